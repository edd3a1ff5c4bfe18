package hatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// cluster is a cluster of PostgreSQL servers that Patroni manages, together with the etcd server that Patroni uses.
type cluster struct {
	t        *testing.T
	sandbox  *pgtest.Sandbox
	python   string
	packages string // the directory with Patroni's Python packages
	etcd     string // the directory of etcd
	members  []*member
}

// startCluster starts etcd and three members, and waits until one is the leader and the others follow it. patroni is
// the path of the patroni command in a Python virtual environment. etcd is the name or the path of the etcd command.
func startCluster(t *testing.T, patroni, etcd string) *cluster {
	t.Helper()
	c := &cluster{t: t, sandbox: newSandbox(t)}
	c.installPatroni(patroni)
	endpoint := c.startEtcd(etcd)
	for i := range 3 {
		m := &member{name: fmt.Sprint("member", i+1), port: freePort(t), patroni: freePort(t), postgresProgram: c.sandbox.Programs}
		m.dir, m.dcs = c.newDir(m.name), map[string]any{"host": endpoint}
		c.members = append(c.members, m)
		must(t, os.WriteFile(filepath.Join(m.dir, "patroni.yml"), m.config(), 0o644))
		c.startMember(m)
	}
	t.Cleanup(c.stop)
	c.awaitComplete()
	return c
}

// installPatroni copies Patroni's packages, because the user that runs PostgreSQL may not be able to read the
// virtual environment.
func (c *cluster) installPatroni(patroni string) {
	c.t.Helper()
	environment := filepath.Dir(filepath.Dir(patroni))
	found, err := filepath.Glob(filepath.Join(environment, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		c.t.Fatalf("%s has the packages %v, %v", environment, found, err)
	}
	c.packages = filepath.Join(c.newDir("patroni"), "packages")
	must(c.t, os.CopyFS(c.packages, os.DirFS(found[0])))
	python, err := filepath.EvalSymlinks(filepath.Join(environment, "bin", "python3"))
	must(c.t, err)
	// Also try the system's Python, because the virtual environment's Python may be in a directory that the
	// user cannot read.
	var problems []string
	for _, c.python = range []string{python, filepath.Join("/usr/bin", filepath.Base(python))} {
		output, err := c.command(c.sandbox.Dir, c.python, "-c", "import patroni, psycopg, etcd").CombinedOutput()
		if err == nil {
			return
		}
		problems = append(problems, fmt.Sprintf("%s: %v\n%s", c.python, err, output))
	}
	c.t.Fatalf("no Python can run Patroni: %q", problems)
}

// command returns a command in whose environment Python finds Patroni's packages.
func (c *cluster) command(dir, name string, args ...string) *exec.Cmd {
	command := c.sandbox.Command(dir, name, args...)
	command.Env = append(command.Env, "PYTHONPATH="+c.packages, "PYTHONDONTWRITEBYTECODE=1")
	return command
}

// newDir creates a directory that belongs to the user that runs the cluster.
func (c *cluster) newDir(name string) string {
	c.t.Helper()
	dir := filepath.Join(c.sandbox.Dir, name)
	if output, err := c.sandbox.Command(c.sandbox.Dir, "mkdir", "-m", "755", dir).CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// startEtcd starts etcd and returns its address.
func (c *cluster) startEtcd(program string) (address string) {
	c.t.Helper()
	c.etcd = c.newDir("etcd")
	address = fmt.Sprint("127.0.0.1:", freePort(c.t))
	peers := fmt.Sprint("http://127.0.0.1:", freePort(c.t))
	c.run(c.etcd, "etcd.log", program, "--name", "one", "--data-dir", "data", "--listen-client-urls", "http://"+address,
		"--advertise-client-urls", "http://"+address, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "one="+peers)
	c.await("etcd", func() bool {
		response, err := http.Get("http://" + address + "/health")
		if err == nil {
			response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
	return address
}

// run starts a program in a directory and appends its output to a file there.
func (c *cluster) run(dir, log, name string, args ...string) {
	c.t.Helper()
	output, err := os.OpenFile(filepath.Join(dir, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(c.t, err)
	defer output.Close()
	command := c.command(dir, name, args...)
	command.Stdout, command.Stderr = output, output
	start(c.t, command)
}

func (c *cluster) startMember(m *member) {
	c.run(m.dir, "patroni.log", c.python, "-m", "patroni", "patroni.yml")
}

// stop shuts the members down. If the test has failed, it prints the ends of their logs.
func (c *cluster) stop() {
	for _, m := range c.members {
		thaw(m.dir)
		for _, id := range processes(m.dir) {
			// Signal only Patroni, whose working directory is m.dir. PostgreSQL's working directory is below it.
			if at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", id)); at == m.dir {
				_ = syscall.Kill(id, syscall.SIGTERM)
			}
		}
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if !slices.ContainsFunc(c.members, func(m *member) bool { return len(processes(m.dir)) > 0 }) {
			break
		}
	}
	if !c.t.Failed() {
		return
	}
	for _, m := range c.members {
		text, _ := os.ReadFile(filepath.Join(m.dir, "patroni.log"))
		lines := strings.Split(string(text), "\n")
		c.t.Logf("the last log lines of %s:\n%s", m.name, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

// await polls until a condition is true. It polls less often than programtest.Await, because a request to Patroni
// takes some time.
func (c *cluster) await(what string, condition func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(programtest.WaitTimeout); !condition(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited too long for %s", what)
		}
	}
}

// status returns the states of all members as reported by the first Patroni that responds.
func (c *cluster) status() []status {
	asker := http.Client{Timeout: 2 * time.Second}
	defer asker.CloseIdleConnections()
	for _, m := range c.members {
		response, err := asker.Get(fmt.Sprintf("http://127.0.0.1:%d/cluster", m.patroni))
		if err != nil {
			continue // the member is dead or frozen
		}
		var all struct{ Members []status }
		err = json.NewDecoder(response.Body).Decode(&all)
		response.Body.Close()
		if err == nil {
			return all.Members
		}
	}
	return nil
}

// leader returns the running leader and its timeline, or nil if there is none.
func (c *cluster) leader() (leader *member, timeline int) {
	for _, s := range c.status() {
		if s.Role == "leader" && s.State == "running" {
			i := slices.IndexFunc(c.members, func(m *member) bool { return m.name == s.Name })
			return c.members[i], s.Timeline
		}
	}
	return nil, 0
}

// awaitComplete waits until there is a leader, a synchronous standby and another standby, all on one timeline.
func (c *cluster) awaitComplete() (leader *member, timeline int) {
	c.t.Helper()
	c.await("three members that work", func() bool { return isComplete(c.status()) })
	return c.leader()
}

// url returns the URL of a database. It lists all members and makes the client connect to the one that accepts
// writes.
func (c *cluster) url(user, database string) string {
	var hosts []string
	for _, m := range c.members {
		hosts = append(hosts, fmt.Sprint("127.0.0.1:", m.port))
	}
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&target_session_attrs=read-write", user, strings.Join(hosts, ","), database)
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := pgtest.FreePort()
	must(t, err)
	return port
}
