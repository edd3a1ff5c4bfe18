package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// runThroughPrism starts a service with an empty store and runs a scenario against it through Prism. Prism is a proxy
// that responds with an error if a request or a response does not match the document. runThroughPrism fails if the
// scenario fails or if Prism reports a violation.
func (g generator) runThroughPrism(ctx context.Context, dir, program, cache string) (string, error) {
	service, err := startService(ctx, program)
	if err != nil {
		return "", err
	}
	defer service.stop()
	proxy, err := startPrism(ctx, filepath.Join(dir, "prism"), service.url+"/v1", cache)
	if err != nil {
		return "", err
	}
	defer proxy.stop()
	if err := proxy.refuses("/pets?limit=0"); err != nil {
		return "", err
	}
	output, err := shell(ctx, g.run, dir, "ANIMALSTORE_URL="+proxy.url, "ANIMALSTORE_KEY="+adminKey, "PRISM=1")
	if violations := proxy.stop()[1:]; len(violations) > 0 { // skip the first violation, which proxy.refuses caused
		output += strings.Join(violations, "\n")
		err = errors.Join(err, errors.New("violations reported by Prism"))
	}
	return output, err
}

// prism is a running proxy.
type prism struct {
	url     string
	command *exec.Cmd
	log     chan []string // after the proxy has ended, receives all lines that report violations
}

// startPrism installs Prism in dir, starts it in front of a service, and waits until it listens.
func startPrism(ctx context.Context, dir, upstream, cache string) (*prism, error) {
	if err := os.CopyFS(dir, os.DirFS("clients/prism")); err != nil {
		return nil, err
	}
	if output, err := install(ctx, "npm ci --silent # package.json package-lock.json", dir, cache); err != nil {
		return nil, fmt.Errorf("cannot install Prism: %w\n%s", err, output)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &prism{url: "http://127.0.0.1:" + port, log: make(chan []string, 1)}
	p.command = exec.CommandContext(ctx, filepath.Join(dir, "node_modules/.bin/prism"), "proxy", "--errors", "--port", port,
		upstream+"/openapi.yaml", upstream)
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.command.Stderr = p.command.Stdout
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	listening := make(chan bool)
	go p.read(output, listening)
	if !<-listening {
		return nil, fmt.Errorf("the proxy Prism ended before it listened: %q", p.stop())
	}
	return p, nil
}

var violation = regexp.MustCompile(`(?i)violation|\berror\b|\bwarning\b`)

// read reads Prism's log. It sends true to listening as soon as Prism listens, or false if Prism ends before that.
func (p *prism) read(output io.Reader, listening chan<- bool) {
	violations := []string{}
	started := false
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if !started && strings.Contains(lines.Text(), "Prism is listening") {
			started = true
			listening <- true
		}
		if violation.MatchString(lines.Text()) {
			violations = append(violations, lines.Text())
		}
	}
	if !started {
		listening <- false
	}
	p.log <- violations
	close(p.log)
}

// refuses sends a request that does not match the document and fails unless Prism refuses it. If Prism let the request
// pass, it would not be checking anything.
func (p *prism) refuses(path string) error {
	request, err := http.NewRequest(http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "application/problem+json" {
		return fmt.Errorf("the proxy Prism has let GET %s pass: got %s, %s", path, response.Status, kind)
	}
	return nil
}

// stop ends the proxy and returns the violations that it has reported. A second call returns none.
func (p *prism) stop() []string {
	p.command.Process.Kill()
	violations := <-p.log
	p.command.Wait()
	return violations
}

// freePort returns a port on which no program listens.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
