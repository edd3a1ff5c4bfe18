package golden

import "testing"

// area is a part of the interface with a transcript of its own. Each has a new service with a new database.
type area struct {
	name         string
	unconfigured bool // there is no configured key
	flags        []string
	talk         func(s *session)
}

// TestHTTP freezes the HTTP interface. Both kinds of databases are held to the same transcript.
func TestHTTP(t *testing.T) {
	t.Parallel()
	var files []string
	for _, area := range areas {
		files = append(files, area.name+".txt")
	}
	t.Run("areas", func(t *testing.T) {
		for _, area := range areas {
			t.Run(area.name, func(t *testing.T) {
				t.Parallel()
				for _, engine := range engines {
					t.Run(engine.name, func(t *testing.T) {
						s := newSession(t, engine, area)
						area.talk(s)
						if t.Failed() {
							return
						}
						if engine.name == engines[0].name {
							check(t, "http/"+area.name+".txt", s.text.String())
						} else {
							compare(t, "http/"+area.name+".txt", s.text.String())
						}
					})
				}
			})
		}
	})
	checkFiles(t, "http", files)
}
