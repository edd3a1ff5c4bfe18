package e2e

import "testing"

// TestDatabaseKeepsItsEnvironment checks that a database can be used only in the environment for which it was
// created. Either serve or keys create may have created the database.
func TestDatabaseKeepsItsEnvironment(t *testing.T) {
	t.Parallel()
	for own, other := range map[string]string{"production": "staging", "staging": "production"} {
		creators := map[string]func(*folder){
			"serve": func(f *folder) { f.serve("--environment", own).stop() },
			"keys":  func(f *folder) { f.createKey("--name", "n", "--environment", own) },
		}
		for creator, createDatabase := range creators {
			t.Run(own+" by "+creator, func(t *testing.T) {
				t.Parallel()
				f := newFolderWithKey(t)
				createDatabase(f)
				expectRefusal(t, f.run("serve", "--addr", takenAddr(t), "--environment", other), 2, own, other)
				expectRefusal(t, f.run("keys", "create", "--name", "n", "--environment", other), 2, own, other)
				f.createKey("--name", "n")
				f.serve("--environment", own).get("/v1/pets")
			})
		}
	}
}
