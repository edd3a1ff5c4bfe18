package main

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

var pgBouncer = flag.String("pgbouncer", "", "path of PgBouncer")

// The real program works behind PgBouncer in transaction mode. If the role's synchronous_commit is off, the program
// refuses to start, because it cannot change the setting of a pooled session.
func TestProgramLivesBehindPgBouncer(t *testing.T) {
	if *pgBouncer == "" {
		t.Skip("runs by hand: make postgres-versions")
	}
	server := pgtest.Start(t)
	pooled := startPgBouncer(t, server.URL())
	f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pooled+"&default_query_exec_mode=exec")
	live(t, f)
	operator := pgtest.Connect(t, server.URL())
	operator.Do("ALTER ROLE animalstore SET synchronous_commit = off",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
	// If the first run had changed the setting of the pooled session, a later run would succeed.
	for range 3 {
		r := f.Run("serve", "--addr", programtest.TakenAddr(t))
		programtest.ExpectRefusal(t, r, 1, "synchronous_commit is off", "ALTER ROLE … SET synchronous_commit = on")
	}
}

// startPgBouncer starts PgBouncer in front of a server and returns PgBouncer's URL.
func startPgBouncer(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, port, _ := net.SplitHostPort(u.Host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	files := map[string]string{
		"users.txt": `"animalstore" ""` + "\n",
		"pgbouncer.ini": fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s/users.txt
pool_mode = transaction
default_pool_size = 5
`, port, own, dir),
	}
	for name, content := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{dir + "/pgbouncer.ini"}
	if os.Getuid() == 0 { // PgBouncer refuses to run as root
		args = append([]string{"-u", "postgres"}, args...)
		for parent := dir; strings.HasPrefix(parent, os.TempDir()+"/"); parent = parent[:strings.LastIndex(parent, "/")] {
			if err := os.Chmod(parent, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	output := &programtest.Transcript{}
	cmd := exec.Command(*pgBouncer, args...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(own))
	programtest.Await(t, "PgBouncer", func() bool {
		conn, err := net.Dial("tcp", u.Host)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return u.String()
}
