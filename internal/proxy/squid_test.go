// Package proxy puts a caching proxy that obeys RFC 9111 before the real program, and sells animals that the proxy has in its
// cache.
package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// rounds is how often an animal is sold.
const rounds = 50

// Through Squid, an animal that was sold is gone with the next request, and one that is still there comes from Squid's cache
// after the service has confirmed it.
func TestSoldAnimalIsGoneBehindSquid(t *testing.T) {
	for name, database := range map[string]string{"SQLite": "", "PostgreSQL": pgtest.Start(t).NewDatabase(t)} {
		t.Run(name, func(t *testing.T) {
			var variables []string
			if database != "" {
				variables = append(variables, "ANIMALSTORE_DATABASE="+database)
			}
			f := programtest.NewFolderWithKey(t, variables...)
			p := f.Serve()
			change := func(path, body string) {
				t.Helper()
				a := p.Send("PATCH", path, programtest.AdminKey, body)
				programtest.ExpectStatus(t, a, http.StatusOK)
			}
			change("/v1/store", `{"window":{"enabled":true}}`)
			pet, _ := p.Create(programtest.Pet{Name: "Bella", CategoryID: 1, Status: "available"})
			page := fmt.Sprintf("/window/pets/%d", pet.ID)
			animal := fmt.Sprintf("/v1/pets/%d", pet.ID)
			change(animal+"/profile", `{"published":true}`)
			proxy, log := startSquid(t, f, strings.TrimPrefix(p.URL, "http://"))
			look := func(path string, status int, shows bool) {
				t.Helper()
				a := p.Send("GET", proxy+path, "", "")
				if a.Status != status || strings.Contains(a.Body, "Bella") != shows {
					t.Fatalf("%s: got %s, want status %d and the animal: %v", path, a, status, shows)
				}
			}
			for range rounds {
				for range 2 {
					look("/window", 200, true)
					look(page, 200, true)
					look("/window/animals.json", 200, true)
				}
				change(animal, `{"status":"sold"}`)
				look("/window", 200, false)
				look(page, 410, false)
				look("/window/animals.json", 200, false)
				change(animal, `{"status":"available"}`)
			}
			// Squid writes its log when the requests end, and sees unchanged and changed pages.
			want := map[string]int{"TCP_REFRESH_UNMODIFIED/200": 3 * rounds, "TCP_REFRESH_MODIFIED/": 2 * rounds}
			programtest.Await(t, "the log of Squid", func() bool {
				text := f.Read(log)
				for what, least := range want {
					if strings.Count(text, what) < least {
						return false
					}
				}
				return true
			})
			if hit := regexp.MustCompile(`TCP_(MEM_|IMS_|INM_)?HIT`).FindString(f.Read(log)); hit != "" {
				t.Errorf("Squid has answered without asking the service: %s", hit)
			}
			for what := range want {
				t.Logf("%s: %d times", what, strings.Count(f.Read(log), what))
			}
		})
	}
}

// startSquid starts Squid before a service. It returns the URL of the proxy and the name of its log in the folder.
func startSquid(t *testing.T, f *programtest.Folder, service string) (url, log string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	host, port, err := net.SplitHostPort(service)
	if err != nil {
		t.Fatal(err)
	}
	// Squid writes its log as another user.
	if err := errors.Join(os.Chmod(filepath.Dir(f.Dir), 0o755), os.Chmod(f.Dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	config := f.Write("squid.conf", strings.Join([]string{
		"http_port " + address + " accel defaultsite=" + service + " no-vhost",
		"cache_peer " + host + " parent " + port + " 0 no-query no-digest originserver",
		"http_access allow all", "cache_mem 64 MB", "maximum_object_size_in_memory 8 MB", "pid_filename none", "shutdown_lifetime 1 second",
		"access_log stdio:" + f.Path("access.log"), "buffered_logs off", "cache_log " + f.Path("cache.log"), "coredump_dir " + f.Dir, "netdb_filename none",
	}, "\n")+"\n")
	squid := f.Launch(exec.Command("squid", "-N", "-f", config))
	programtest.Await(t, "Squid", func() bool {
		_, err := squid.Try("GET", "http://"+address+"/livez", "", "")
		return err == nil
	})
	return "http://" + address, "access.log"
}
