package sqlstore

import (
	"crypto/sha256"
	"errors"
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// A released migration must never change. Every change to the schema needs a new migration.
func TestMigrationsNeverChange(t *testing.T) {
	t.Parallel()
	known := map[string][]string{
		"sqlite": {
			"e0f1a2f0e497eef7f8e6576b561693a8d444f6bf612f8861be1bec081783f555",
			"e7dd7af9a4b6ce5768cbff8c9c098f71229823ba075c1264adb768096a4620f0",
			"9e4a3d0c78b429dfd9f1b5125b8d090f18246b447c80e5bc9a15e9d10d8a3f58",
			"97c48fde2898f9d809226b1eee9adeb41060905cfcc081c3936b3e16a64fafe0",
			"bfb84b6a1e03834e9408d46e5472b3624b0ba5f96275116901a7992cc6e155df",
			"9e398d6d2b6dbbb4a612c590f1513931964827d469fcb5045f455090c9426c30",
			"b78801a3e1deb7d68d7c5604f6b65aa3e43ed97979a5e5a8d82701d82862f13f",
			"dd2db54b1c4ae9ac4d2dfc888d692a4747ed4987db77d7fc70931670192853e6",
			"e3ecf2059fd913a0d88df9deb2bd80096413308660457cb191d734004c0abf81",
			"9f77ff115a9e70360b8e66b2f1b3413abc3500968ff3f104008f816f8a0a523b",
			"9d9d81fd60fe8f71edc3a133227e02fc79b3e6c3e743373e02922d17266bcee2",
			"5146fd1c9fabedfbb2d44e9ea3384f275ef1bf998ac02a4e5a0aa08b6d82675c",
			"335e85965aab7811b0b34ef83aec0fca0889029cdc27b798ed707ec3dad61980",
			"7c60ff976774aee585d4861dc3377c9b07ab706e6b96fe6b9022e4590fa17f01",
			"c9fa1df41b9dd7ebdf660c8aa8d69e8fe94ec065c8a61f84d542d332e7886396",
			"94d1e2f03a0f41f4d58ce739e30fa71468a28c2108602c59b227e12dbde30dd1",
			"cb837dcacbbb19c7899c447fe91eb16d7c9b3985144ec979a4d1a8f00f034937",
			"a7b380d0c8050a4bdef993180afcd77f031ca74f307cdf1256f5ec8908ee310e",
			"c1443eef18b2158bfed31094e4cf1213e1bd03e899113e1664eb7289a71b3b9d",
			"131998a4f1f483dd99e84449d6ffb7f35e2ce5aba2a1f50b425dc5a1614d8a0f",
			"506045eb9325b4742da51fea1c1dd4f186aee24accdddc00dacebc367362858a",
			"31139a7549f72e267df2d9a0ba407ec6cf580e1539e6a7ee59081dce48de7014",
			"9d9320a7ddbc007cf4b4abbfaf73fee8ee982d12f59e315dd593d3eaea6f0445",
			"427af3c268b5d8c377523c91b7a90169fc473bde8a8be359ec825cbda7c02df4",
			"dc80d0d211ee7daa98200fceb9f8f20927faeb29e69f9932e8fa9085c0111695",
			"ed18d4fcfd691731cfa84ab81d33210876d6eb5df8f1084ee3022a586c9e6802",
			"5e93782d3348867e042aaf03f2f45b72dd9322f95caad6e0d7bee30f5f7044fc",
			"0d2e1158c08af1f714568d7708ab047be7902e82cfc1c20b608f48ac4719a59e",
		},
		"postgres": {
			"3863a34239d7d348583e3449f03fc3770911376282464427a3e0bbfe64775093",
			"22feab7376139660cf2f0be914b0075db15a2b21a22028c46a4a0544ad500697",
			"6b20657e1f97822876b434c48ab520bcff26901756b5561cfcbc4ddb05510342",
			"c2e1d39934350925fb7dbeacf8215808d9fbb2035379853df9a3b50a522a164e",
			"733437d1cabe5972d8ca2c8bde541b4343e9b6ff0a63389918cb9d936135c4e3",
			"a7d92698037c2f2fd0f3862ada1975e9416b9d5e6348d906df293d886c8643fc",
			"762751ac09ffb9408f45dd5bbf2225237dacccaab02ae64b4a9a6a92cd279932",
			"30ea9c9198ed770dc41f19bb16a45a0e9667d02b373004038d0659297d0c3d6a",
			"acfa12ccf2a9dd011472f7b8e79ed5e33caf48a368f47698562147e50f80174c",
			"adc07aefabfa373cb1ee66f796e112e11564b4f371a0b51e252727411b2f00f6",
			"c035c798e5048b068b44b1aae6ef248d1ec1c648c8e0e6913f3edfb5e0f0c2d7",
			"429335b560f151e421b89d0e66640ad8ef4b0789f6c3a0afd63ebfb39cfa582b",
			"5b7b202b9db9c956fb517548d89d4ad514791e2b247ac619bcaeee5bebba1184",
			"9f352ae93935583e4c69522472574310c5414440d2ac2af83b00c8bf4716549f",
			"58780a09e91b3a53a60477e3620164f826097651a51395ffbf51f32d5ae74ee4",
			"2b594a9e33ce8d1f7f8383fcf101cd41b5f914e867d043c926d39a761be8cd75",
			"569659cf7ea720fc81bfd0f09920e594b98b0a1a2a00eb13e8b479aa2aaed290",
			"427fe4e882ef7482a36b47156ed8db0c32c3a41658ecd693aa154c21123f4e2e",
			"cf4b2795a2f3616d4f9153b1ea4cb5438924d6fdaa8e544ce208d406aaa64c20",
			"47050b558eeab2df27783efeec0b979cc5efa724f79bb45a5f16af491e53356b",
			"69a8af0efbefeadf79b2fa9dfe15e94e1b6e96b563aa05f7cd58550eac72774f",
			"92fa1c2c9e7d73383379cc7f79d127091497ccf3033b71e89be44f3921c2a9aa",
			"427af3c268b5d8c377523c91b7a90169fc473bde8a8be359ec825cbda7c02df4",
			"12412d36708adad41ae2bd75069763edbf9e39e65d74adc1cb0852d73ad1a60e",
			"c871fd79545a0e7f02291179cb64a3f0851de1d7699840c5db17405bc26db2b3",
			"913b3e3310227880cfa8eef1465d4cdbbd90c006894b0159673f9f68b482ad08",
			"46923859a602717acd720a60760e23ed74a7209de98dc4f558857d7408bb638d",
		},
	}
	for engine, want := range known {
		var got []string
		steps, err := Migrations(engine)
		must(t, err)
		for _, step := range steps {
			got = append(got, fmt.Sprintf("%x", sha256.Sum256([]byte(step))))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the migrations of %s have the sums %q, want %q", engine, got, want)
		}
	}
}

// A file with any earlier schema version gets the same schema as a new file and keeps its rows.
func TestEverySchemaVersionIsMigrated(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(SQLite)
	must(t, err)
	fresh := openNew(t)
	const (
		counted  = 16 // from this version on, every write updates the counts
		unfolded = 18 // from this version on, there is no copy of the name without letter case
	)
	for version := 1; version < len(steps); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "old.db")
			insert := `INSERT INTO pets (name, name_folded, category_id, status)
				VALUES ('Rex', 'REX', 7, 'sold'), ('Mia', 'MIA', 7, NULL), ('Tom', 'TOM', 8, 'sold')`
			if version >= unfolded {
				insert = "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 7, 'sold'), ('Mia', 7, NULL), ('Tom', 8, 'sold')"
			}
			execFile(t, path, strings.Join(steps[:version], ";\n")+"; INSERT INTO categories (id) VALUES (7), (8);"+insert+
				fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
			store := open(t, path, Options{Exclusive: true})
			if got := names(t, store); got != "Tom Mia Rex" {
				t.Errorf("found %q, want Tom Mia Rex", got)
			}
			wantSearched(t, store, "rex", "Rex")
			read(t, store, func(tx shop.ReadTx) error {
				counts, err := tx.LargestCategories(3)
				if got := fmt.Sprint(counts); got != "[{7 {0 0 1 1}} {8 {0 0 1 0}}]" && version < counted {
					t.Errorf("counted %s", got)
				}
				return err
			})
			for what, insert := range map[string]string{
				"an animal of no category":    "INSERT INTO pets (name, category_id) VALUES ('orphan', 404)",
				"an animal of no such status": "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 7, 'lost')",
				"an order of no such status":  "INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (1, 'lost', 1, 1)",
				"a delivery of no such status": `
					INSERT INTO webhook_deliveries (webhook_id, message_id, event_type, status, attempts, created_at, body)
					VALUES (1, 'm', 't', 'lost', '[]', 1, '')`,
			} {
				if err := store.Write(t.Context(), shop.Writing{}, executing(insert)); err == nil {
					t.Errorf("%s was written", what)
				}
			}
			if diff := cmp.Diff(schemaOf(t, fresh), schemaOf(t, store)); diff != "" {
				t.Errorf("a new schema (-) and the migrated one (+) differ:\n%s", diff)
			}
		})
	}
}

var update = flags.Bool("update", false, "rewrite new_sqlite.sql")

// new_sqlite.sql makes the same tables, with the same rows, as all migrations.
func TestNewFilesNeedNoMigrations(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(SQLite)
	must(t, err)
	path := filepath.Join(t.TempDir(), "new.db")
	execFile(t, path, strings.Join(steps, ";\n")+
		fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps)))
	want := "-- Made from the migrations by go test ./internal/sqlstore -run NewFiles -update.\n\n" + dump(t, path)
	if *update {
		must(t, os.WriteFile("migrations/new_sqlite.sql", []byte(want), 0o600))
		return
	}
	if diff := cmp.Diff(want, newSQLite); diff != "" {
		t.Errorf("new_sqlite.sql differs from the migrations; run the command in its first line:\n%s", diff)
	}
}

// dump returns statements that make the tables of a file and their rows.
func dump(t *testing.T, path string) string {
	t.Helper()
	conn := OpenFile(path)
	defer conn.Close()
	texts := func(query string) (all []string) {
		t.Helper()
		must(t, conn.Each(t.Context(), query, func(scan Scanner) error {
			var text string
			err := scan(&text)
			all = append(all, text)
			return err
		}))
		return all
	}
	var statements strings.Builder
	for _, statement := range texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type != 'table', rowid") {
		statements.WriteString(statement + ";\n")
	}
	for _, table := range texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid") {
		columns := texts(fmt.Sprintf("SELECT 'quote(' || name || ')' FROM pragma_table_info('%s')", table))
		for _, row := range texts(fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, " || ', ' || "), table)) {
			fmt.Fprintf(&statements, "INSERT INTO %s VALUES (%s);\n", table, row)
		}
	}
	return statements.String()
}

// schemaOf returns the CREATE statements for all objects in a schema.
func schemaOf(t *testing.T, store *Store) (schema string) {
	t.Helper()
	conn, err := store.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	const query = "SELECT group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), char(10) ORDER BY name) FROM sqlite_schema"
	must(t, conn.Each(t.Context(), query, func(scan Scanner) error { return scan(&schema) }))
	return schema
}

// The migration counts the animals, arrivals and sales in a file of version 1.1.
func TestUpgradeCountsAnimalsInAFile(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(SQLite)
	must(t, err)
	path := filepath.Join(t.TempDir(), "old.db")
	begin := time.Now().Truncate(shop.StatsPeriod).UTC()
	statements := strings.Join(steps[:15], ";\n") + `;
		INSERT INTO categories (id) VALUES (-7), (8);
		INSERT INTO pets (name, name_folded, category_id, status)
		VALUES ('a', 'A', -7, 'available'), ('b', 'B', -7, 'sold'), ('c', 'C', 8, NULL)`
	insertStats(func(table string, age time.Duration, kind, data string) {
		statements += fmt.Sprintf(";\nINSERT INTO %s (at, type, subject, actor, data) VALUES (%d, '%s', 'x', 'system', '%s')",
			table, begin.Add(-age).UnixMicro(), kind, data)
	}, "events", "events")
	execFile(t, path, statements+fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = 15", applicationID))
	wantMigratedCounts(t, open(t, path, Options{Exclusive: true}), begin)
}

// insertStats inserts events about arrivals, sales and other changes. Their age is relative to the beginning of the
// current period. The last events go into the inbox.
func insertStats(insert func(table string, age time.Duration, kind, data string), feed, inbox string) {
	const pet = `{"id":2,"name":"\"status\":\"sold\"","categoryId":8`
	const available, sold, none = pet + `,"status":"available"}`, pet + `,"status":"sold"}`, pet + "}"
	event := func(current, previous string) string {
		return `{"current":` + current + `,"previous":` + previous + "}"
	}
	insert(feed, 40*24*time.Hour, "pet.created", event(available, "null"))
	insert(feed, 24*time.Hour, "pet.created", event(sold, "null"))
	insert(feed, 24*time.Hour, "pet.updated", event(available, sold))
	insert(feed, 24*time.Hour, "pet.updated", event(sold, none))
	insert(feed, 1, "category.created", event(`{"id":8}`, "null"))
	insert(inbox, 1, "pet.updated", event(sold, available))
	insert(inbox, 0, "pet.updated", event(sold, sold))
	insert(inbox, 0, "pet.created", event(none, "null"))
	insert(inbox, 0, "pet.restored", event(available, "null"))
}

// wantMigratedCounts checks the counts of the store that the tests of the migration fill. begin is the beginning of
// the period in which the store was filled.
func wantMigratedCounts(t *testing.T, store *Store, begin time.Time) {
	t.Helper()
	for range 2 {
		read(t, store, func(tx shop.ReadTx) error {
			inventory, err := tx.Inventory()
			counts, err2 := tx.LargestCategories(10)
			if got := fmt.Sprint(inventory, counts); got != "{1 0 1 1} [{-7 {1 0 1 0}} {8 {0 0 0 1}}]" {
				t.Errorf("counted %s", got)
			}
			periods, err3 := tx.PeriodStats(time.Time{})
			if diff := cmp.Diff([]shop.PeriodStats{
				{Begin: begin.AddDate(0, 0, -1), Arrivals: 1, Sales: 1}, {Begin: begin.Add(-shop.StatsPeriod), Sales: 1}, {Begin: begin, Arrivals: 1},
			}, periods); diff != "" {
				t.Errorf("arrivals and sales (-want +got)\n%s", diff)
			}
			return errors.Join(err, err2, err3)
		})
		must(t, store.Publish(t.Context())) // publishing events changes no counts
	}
}

// At the upgrade from version 1.1, the keys of people who sell animals get the scope customers, and no others do.
func TestKeysGetTheScopeForCustomers(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(SQLite)
	must(t, err)
	before := slices.IndexFunc(steps, func(step string) bool { return strings.Contains(step, "scopes || ' customers'") })
	path := filepath.Join(t.TempDir(), "old.db")
	execFile(t, path, strings.Join(steps[:before], ";\n")+
		"; INSERT INTO keys (name, scopes, hint, created_at) VALUES ('staff', 'pets:read pets:write orders:read orders:write events:read', '', 0),"+
		" ('partner', 'pets:read orders:read orders:write', '', 0), ('both', 'orders:write pets:write', '', 0), ('admin', 'admin', '', 0)"+
		fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, before))
	read(t, open(t, path, Options{}), func(tx shop.ReadTx) error {
		keys, err := tx.Keys(shop.PageRequest{Limit: 10})
		var got []string
		for _, key := range keys {
			got = append(got, key.Name+": "+shop.ScopesText(key.Scopes))
		}
		want := "admin: admin\nboth: orders:write, pets:write, customers\npartner: pets:read, orders:read, orders:write\n" +
			"staff: pets:read, pets:write, orders:read, orders:write, events:read, customers"
		if strings.Join(got, "\n") != want {
			t.Errorf("the keys are %q", got)
		}
		return err
	})
}
