package hatest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// member is one machine of the cluster: a Patroni and its PostgreSQL server.
type member struct {
	name, dir       string
	port, patroni   int
	dcs             map[string]any // Patroni's settings for etcd
	postgresProgram string
}

// status is the state of a member as reported by Patroni.
type status struct {
	Name, Role, State string
	Timeline          int
}

// settings contains the Patroni settings that docs/operating.md recommends. The test uses the same settings. ttl,
// loop_wait and retry_timeout are shorter than Patroni's defaults, so that a failover takes less time.
var settings = map[string]any{
	"ttl": 20, "loop_wait": 5, "retry_timeout": 5,
	"synchronous_mode": true, "synchronous_mode_strict": true,
	"maximum_lag_on_failover": 1048576,
	"failsafe_mode":           true,
	"primary_start_timeout":   0,
	"postgresql": map[string]any{
		"use_pg_rewind": true,
		"parameters":    map[string]any{"wal_log_hints": "on", "restart_after_crash": "off", "max_connections": 200},
	},
}

// config returns the configuration file of a member as JSON. Patroni expects YAML, but JSON is valid YAML.
func (m *member) config() []byte {
	address := func(port int) string { return fmt.Sprint("127.0.0.1:", port) }
	text, err := json.MarshalIndent(map[string]any{
		"scope":   "animalstore",
		"name":    m.name,
		"restapi": map[string]any{"listen": address(m.patroni), "connect_address": address(m.patroni)},
		"etcd3":   m.dcs,
		"bootstrap": map[string]any{
			"dcs":    settings,
			"initdb": []any{map[string]any{"encoding": "UTF8"}, map[string]any{"locale": "C.UTF-8"}, map[string]any{"auth": "trust"}},
		},
		"postgresql": map[string]any{
			"listen": address(m.port), "connect_address": address(m.port), "data_dir": m.dir + "/data", "bin_dir": m.postgresProgram,
			"pgpass": m.dir + "/pgpass",
			"pg_hba": []string{"local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"},
			"authentication": map[string]any{
				"superuser": map[string]any{"username": "postgres"}, "replication": map[string]any{"username": "replicator"},
			},
			"parameters": map[string]any{"unix_socket_directories": "..", "shared_buffers": "32MB", "dynamic_shared_memory_type": "mmap"},
			"basebackup": []any{map[string]any{"checkpoint": "fast"}},
			"remove_data_directory_on_diverged_timelines": true,
		},
		"watchdog": map[string]any{"mode": "off"},
	}, "", "  ")
	if err != nil {
		panic(err) // cannot happen because these values can always be encoded
	}
	return text
}

// isComplete reports whether there are a leader, a synchronous standby and another standby that all work and are on
// the same timeline.
func isComplete(members []status) bool {
	want := map[string]string{"leader": "running", "sync_standby": "streaming", "replica": "streaming"}
	for _, s := range members {
		if want[s.Role] != s.State || s.Timeline != members[0].Timeline {
			return false
		}
		delete(want, s.Role)
	}
	return len(want) == 0
}

// flatten adds the names and values of settings to flat. If a name only groups other settings, its value in flat is
// "".
func flatten(settings map[string]any, flat map[string]string) {
	for name, value := range settings {
		if below, ok := value.(map[string]any); ok {
			flat[name] = ""
			flatten(below, flat)
			continue
		}
		flat[name] = fmt.Sprint(value)
	}
}

func TestDocumentedSettingsAreTested(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "\n### Failover with Patroni\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/operating.md has no settings for Patroni")
	}
	want := map[string]string{}
	flatten(settings, want)
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "#")
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if value = strings.Trim(value, " \""); want[name] != value {
			t.Errorf("docs/operating.md has %s: %s, but %q was tested", name, value, want[name])
		}
		delete(want, name)
	}
	for name, value := range want {
		t.Errorf("%s: %s was tested, but is not in docs/operating.md", name, value)
	}
}

func TestClusterIsCompleteIfEachMemberWorks(t *testing.T) {
	t.Parallel()
	leader, sync, replica := status{"a", "leader", "running", 2}, status{"b", "sync_standby", "streaming", 2}, status{"c", "replica", "streaming", 2}
	behind, starting := status{"c", "replica", "streaming", 1}, status{"c", "replica", "starting", 2}
	for i, test := range []struct {
		members  []status
		complete bool
	}{
		{[]status{leader, sync, replica}, true},
		{[]status{replica, leader, sync}, true},
		{nil, false},
		{[]status{leader, sync}, false},
		{[]status{leader, replica, replica}, false},
		{[]status{leader, sync, behind}, false},
		{[]status{leader, sync, starting}, false},
	} {
		if got := isComplete(test.members); got != test.complete {
			t.Errorf("case %d: got %t", i, got)
		}
	}
}
