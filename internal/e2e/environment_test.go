package e2e

import "testing"

// TestEnvironmentStays: a database belongs to the environment that it was made for, whoever made it.
func TestDatabaseKeepsItsEnvironment(t *testing.T) {
	t.Parallel()
	for own, other := range map[string]string{"production": "staging", "staging": "production"} {
		makers := map[string]func(*folder){
			"serve": func(f *folder) { f.serve("--environment", own).stop() },
			"keys":  func(f *folder) { f.createKey("--name", "n", "--environment", own) },
		}
		for maker, makeDatabase := range makers {
			t.Run(own+" by "+maker, func(t *testing.T) {
				t.Parallel()
				f := newFolderWithKey(t)
				makeDatabase(f)
				expectRefusal(t, f.run("serve", "--addr", takenAddr(t), "--environment", other), 2, own, other)
				expectRefusal(t, f.run("keys", "create", "--name", "n", "--environment", other), 2, own, other)
				f.createKey("--name", "n")
				f.serve("--environment", own).get("/v1/pets")
			})
		}
	}
}
