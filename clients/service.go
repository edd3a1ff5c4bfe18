package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
)

const adminKey = "the-key-of-the-clients"

// service is the real program, which runs on an empty store in its own folder.
type service struct {
	url     string // the base URL without /v1
	dir     string
	command *exec.Cmd
}

var listening = regexp.MustCompile(`msg=listening addr=(\S+)`)

// startService starts the program and waits until it listens.
func startService(ctx context.Context, program string) (*service, error) {
	dir, err := os.MkdirTemp("", "animalstore-clients-store-")
	if err != nil {
		return nil, err
	}
	s := &service{dir: dir, command: exec.CommandContext(ctx, program, "serve", "--addr", "127.0.0.1:0")}
	s.command.Dir = dir
	s.command.Env = append(os.Environ(), "ANIMALSTORE_API_KEY="+adminKey)
	log, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			s.url = "http://" + found[1]
			go func() { // keep reading, so that the service does not block while it writes its log
				for lines.Scan() {
				}
			}()
			return s, nil
		}
		fmt.Println(lines.Text())
	}
	s.stop()
	return nil, errors.New("the service ended before it listened")
}

// stop ends the service and removes its store.
func (s *service) stop() {
	s.command.Process.Signal(syscall.SIGTERM)
	s.command.Wait()
	os.RemoveAll(s.dir)
}
