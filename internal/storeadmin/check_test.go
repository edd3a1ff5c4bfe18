package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

func TestCheckFindsNothingInASoundStore(t *testing.T) {
	t.Parallel()
	expectSound(t, soundShop(t, "server"))
	file := soundShop(t, "file")
	expectSound(t, file)
	with(t, file, func(tx shop.WriteTx) error {
		_, err := tx.RemoveEvents(time.Now().Add(time.Hour), time.Now().Add(time.Hour), time.Now())
		return err
	})
	expectSound(t, file)
}

func TestCheckFindsEveryDamage(t *testing.T) {
	t.Parallel()
	for name, only := range map[string]map[string]damage{"file": onFile, "server": onServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := soundShop(t, name)
			c := sqlstore.OpenFile(database)
			if name == "server" {
				with(t, database, func(shop.WriteTx) error { return nil }) // this call also publishes all events
				c = must(open(t, database, sqlstore.Options{}).Conn(t.Context()))(t)
			}
			defer c.Close()
			c.Version = len(must(sqlstore.Migrations(c.Engine))(t))
			all := maps.Clone(damages)
			maps.Copy(all, only)
			for what, d := range all {
				found, err := checkDamaged(t.Context(), c, d)
				if err != nil || !slices.ContainsFunc(found, func(finding string) bool { return strings.Contains(finding, d.want) }) {
					t.Errorf("%s: found %q, %v; want %q", what, found, err, d.want)
				}
			}
			if found, err := checkDamaged(t.Context(), c, damage{statements: "SELECT 1"}); err != nil || len(found) > 0 {
				t.Errorf("after all damage was undone: found %q, %v", found, err)
			}
		})
	}
	// This damage is not in onFile, because only a new connection reads the changed schema.
	t.Run("file with a row out of its index", func(t *testing.T) {
		t.Parallel()
		database := soundShop(t, "file")
		const wrong = "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, '%s', '%s') WHERE name = 'pets_category_status'"
		execFile(t, database, fmt.Sprintf(wrong, "(category_id, status, id)", "(name, status, id)"))
		execFile(t, database, "INSERT INTO pets (name, category_id) VALUES ('x', 0)")
		execFile(t, database, fmt.Sprintf(wrong, "(name, status, id)", "(category_id, status, id)"))
		if found := findings(t, database); !strings.Contains(fmt.Sprint(found), "missing from index pets_category_status") {
			t.Errorf("found %q", found)
		}
	})
}

// checkDamaged damages and checks a shop in one transaction. Then it rolls the transaction back.
func checkDamaged(ctx context.Context, c *sqlstore.Conn, d damage) (found []string, err error) {
	if c.Engine == sqlstore.SQLite {
		d.statements = strings.ReplaceAll(d.statements, `'\x0102'`, "x'0102'")
	}
	statements := strings.Split(d.statements, "; ")
	if strings.Contains(d.statements, "TRIGGER") {
		statements = []string{d.statements}
	}
	checker := &checker{Conn: c, engine: engineOf(c), report: func(finding string) { found = append(found, finding) }}
	err = errors.Join(c.Exec(ctx, "BEGIN"), execAll(ctx, c, statements...))
	if err == nil {
		err = checker.check(ctx)
	}
	err = errors.Join(err, c.Exec(ctx, "ROLLBACK"))
	if strings.HasPrefix(d.statements, "PRAGMA ignore_check_constraints") {
		err = errors.Join(err, c.Exec(ctx, "PRAGMA ignore_check_constraints = 0"))
	}
	return found, err
}

// Each rule in rowRules is broken by at least one entry in damages or onFile.
func TestEveryRuleHasADamageThatBreaksIt(t *testing.T) {
	t.Parallel()
	for _, rule := range rowRules(&fileEngine) {
		_, words, _ := strings.Cut(rule.says, "%s: ")
		words, _, _ = strings.Cut(words, "%s")
		breaks := func(d damage) bool { return strings.Contains(d.want, words) }
		if !slices.ContainsFunc(slices.AppendSeq(slices.Collect(maps.Values(damages)), maps.Values(onFile)), breaks) {
			t.Errorf("nothing breaks the rule %q", rule.says)
		}
	}
}

// If more than maxFindings rows break a rule, Check reports only the first maxFindings of them and says that there are
// more.
func TestCheckLimitsFindingsOfARule(t *testing.T) {
	t.Parallel()
	database := soundShop(t, "file")
	execFile(t, database, `
		WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 5000)
		INSERT INTO pets (name, category_id) SELECT 'Rex', 0 FROM counted`)
	if found := findings(t, database); len(found) > 2*maxFindings || !slices.Contains(found, "there are more like these") {
		t.Errorf("%d findings: %q", len(found), found)
	}
}

// Check finds a damaged page anywhere in the file.
func TestCheckFindsDamageInEveryPage(t *testing.T) {
	t.Parallel()
	content, path := must(os.ReadFile(soundShop(t, "file")))(t), engines["file"](t)
	const page = 4096
	for n := range len(content) / page {
		broken := slices.Clone(content)
		for i := n * page; i < n*page+page; i++ {
			broken[i] ^= 0x5a
		}
		noError(t, os.WriteFile(path, broken, 0o600))
		if found, err := Check(t.Context(), path, func(string) {}); err == nil && found.Damage == 0 {
			t.Errorf("damage in page %d is not found", n)
		}
		noError(t, removeDatabase(path))
	}
}

func TestCheckRefusesWhatIsNoStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	stranger, newer := engines["file"](t), soundShop(t, "file")
	execFile(t, stranger, "CREATE TABLE songs (title TEXT)")
	execFile(t, newer, "PRAGMA user_version = 1000")
	for database, want := range map[string]string{
		filepath.Join(dir, "missing.db"): "no such file",
		dir:                              "is a directory",
		write("letter.db", strings.Repeat("Dear aunt,", 500)): "not a database",
		write("empty.db", ""): "there is no store in it",
		stranger:              "another program",
		newer:                 "newer animalstore",
		engines["server"](t):  "there is no store in it",
	} {
		if _, err := Check(t.Context(), database, func(string) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", database, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("a check created a database")
	}
}

// Check does not apply this version's rules to a store with an older schema.
func TestCheckSkipsRulesOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	path := oldStore(t)
	for want, change := range []string{"", "DROP INDEX orders_open"} {
		execFile(t, path, change)
		if found, err := Check(t.Context(), path, func(string) {}); !errors.Is(err, ErrOlderSchema) || found.All != want {
			t.Errorf("after %q: %+v, %v; want %d findings", change, found, err, want)
		}
	}
}

func TestCancelledCheckEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, soundShop(t, "file"), func(string) {}); err == nil {
		t.Error("it went on")
	}
}
