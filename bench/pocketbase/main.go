// Command pocketbase is the peer in the benchmark: PocketBase with the same animals as the service. It is a
// separate module because PocketBase requires the exact version of SQLite that it was tested with.
//
//	pocketbase fill FOLDER ANIMALS   creates the data folder
//	pocketbase serve FOLDER ADDR     serves the data folder and writes an access token to FOLDER/token
package main

import (
	"log"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

const email = "load@example.com"

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: pocketbase fill FOLDER ANIMALS | serve FOLDER ADDR")
	}
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: os.Args[2], HideStartBanner: true})
	err := app.Bootstrap()
	if err == nil {
		err = app.RunAllMigrations()
	}
	if err == nil {
		err = map[string]func(core.App, string, string) error{"fill": fill, "serve": serve}[os.Args[1]](app, os.Args[2], os.Args[3])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve(app core.App, folder, addr string) error {
	user, err := app.FindAuthRecordByEmail("users", email)
	if err != nil {
		return err
	}
	token, err := user.NewAuthToken()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "token"), []byte(token), 0o600); err != nil {
		return err
	}
	return apis.Serve(app, apis.ServeConfig{HttpAddr: addr})
}

// fill creates a collection with the same animals and the same fields as in the service. The collection has an index
// for the list request, and its access rules require a token. Request logging is turned off, which is an advantage for
// PocketBase.
func fill(app core.App, _, animals string) error {
	n, err := strconv.Atoi(animals)
	if err != nil {
		return err
	}
	app.Settings().Logs.MaxDays = 0
	if err := app.Save(app.Settings()); err != nil {
		return err
	}
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	user := core.NewRecord(users)
	user.SetEmail(email)
	user.SetPassword("a password that nobody uses")
	user.SetVerified(true)
	if err := app.Save(user); err != nil {
		return err
	}
	pets := core.NewBaseCollection("pets")
	pets.Fields.Add(
		&core.TextField{Name: "name", Required: true, Max: 200},
		&core.NumberField{Name: "categoryId", OnlyInt: true},
		&core.SelectField{Name: "status", Values: []string{"available", "pending", "sold"}, MaxSelect: 1},
	)
	pets.AddIndex("pets_status", false, "status", "")
	known := `@request.auth.id != ""`
	pets.ListRule, pets.ViewRule, pets.CreateRule = &known, &known, &known
	if err := app.Save(pets); err != nil {
		return err
	}
	return app.RunInTransaction(func(tx core.App) error {
		_, err := tx.DB().NewQuery(`
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:animals})
			INSERT INTO pets (id, name, categoryId, status)
			SELECT printf('animal%09d', i), 'Animal ' || i, i % 20 + 1,
				CASE (i - 1) % 10 WHEN 8 THEN 'pending' WHEN 9 THEN 'sold' ELSE 'available' END
			FROM n`).Bind(dbx.Params{"animals": n}).Execute()
		return err
	})
}
