package cli

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"
)

// examples maps the path of every command and group of commands to the examples in its help.
var examples = map[string][]string{
	"": {"animalstore serve --demo --database demo.db", "animalstore help pets list"},

	"serve": {"animalstore serve --addr 127.0.0.1:8081 --database shop.db"},

	"pets":           {"animalstore pets list --status available"},
	"pets list":      {"animalstore pets list --status available --search bengal", "animalstore pets list --all --output json"},
	"pets show":      {"animalstore pets show 7"},
	"pets add":       {"animalstore pets add --name Rex --category 1 --status available"},
	"pets set":       {"animalstore pets set 7 --status pending", "animalstore pets set 7 --breed Beagle --price \"250.00 EUR\""},
	"pets publish":   {"animalstore pets publish 7"},
	"pets unpublish": {"animalstore pets unpublish 7"},
	"pets remove":    {"animalstore pets remove 7 8"},
	"pets restore":   {"animalstore pets restore 7"},
	"photos":         {"animalstore photos add 7 *.jpg"},
	"photos list":    {"animalstore photos list 7"},
	"photos add":     {"animalstore photos add 7 *.jpg", "animalstore photos add 7 rex.jpg --alt \"Rex sleeps in the sun\""},
	"photos move":    {"animalstore photos move 7 31 1"},
	"photos remove":  {"animalstore photos remove 7 31 32"},

	"categories":        {"animalstore categories list"},
	"categories list":   {"animalstore categories list --output json"},
	"categories add":    {"animalstore categories add --name Cats"},
	"categories set":    {"animalstore categories set 2 --name Cats"},
	"categories remove": {"animalstore categories remove 2"},

	"orders":                {"animalstore orders list --status placed"},
	"orders list":           {"animalstore orders list --status placed --search miller"},
	"orders show":           {"animalstore orders show 3"},
	"orders place":          {`animalstore orders place --pet 7 --reference "Miller, desk 2"`},
	"orders set":            {"animalstore orders set 3 --hold-until 2027-01-31T18:00:00Z"},
	"orders approve":        {"animalstore orders approve 3 4"},
	"orders deliver":        {"animalstore orders deliver 3"},
	"orders cancel":         {"animalstore orders cancel 3"},
	"orders undo":           {"animalstore orders undo 3"},
	"orders erase-customer": {"animalstore orders erase-customer 3"},

	"events":    {"animalstore events --since 2027-01-31", "animalstore events --follow --type order.placed --output json"},
	"inventory": {"animalstore inventory"},
	"mcp":       {"animalstore mcp --url https://animals.example/v1"},

	"store":      {`animalstore store set --name "Happy Paws" --time-zone Europe/Berlin`},
	"store show": {"animalstore store show"},
	"store set":  {`animalstore store set --name "Happy Paws" --time-zone Europe/Berlin`, "animalstore store set --remove phone"},

	"link":        {"animalstore link", "animalstore link --key Anna --public-url https://animals.example/v1"},
	"keys":        {"animalstore keys create --name desk-2 --role staff"},
	"keys create": {"animalstore keys create --name desk-2 --role staff", "animalstore keys create --name website --scope pets:read,orders:write --expires 2027-01-31"},
	"keys list":   {"animalstore keys list"},
	"keys rotate": {"animalstore keys rotate 2 --overlap 90m"},
	"keys revoke": {"animalstore keys revoke 2"},

	"import":     {"animalstore import --dry-run pets.csv", "animalstore import --mode upsert pets.csv"},
	"export":     {"animalstore export pets.csv"},
	"copy":       {"animalstore copy --database shop.db --to postgres://db.example/shop"},
	"backup":     {"animalstore backup --database shop.db monday.db"},
	"restore":    {"animalstore restore --database shop.db monday.db", "animalstore restore --rehearse monday.db"},
	"check":      {"animalstore check --database shop.db"},
	"doctor":     {"animalstore doctor --database shop.db --backup-dir /backups", "animalstore doctor --json"},
	"health":     {"animalstore health --addr 127.0.0.1:8081"},
	"completion": {"animalstore completion bash"},
	"version":    {"animalstore version"},
	"help":       {"animalstore help orders place"},
}

// printHelp prints the help for the selected command, with its examples at the end.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Model.Node
	if selected := ctx.Selected(); selected != nil {
		node = selected
	}
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "version" {
			flag.Hidden = node != ctx.Model.Node // every command accepts --version, but only the general help lists it
		}
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprint(ctx.Stdout, "\nExamples:\n"); err != nil {
		return err
	}
	for _, line := range examples[node.Path()] {
		if _, err := fmt.Fprintf(ctx.Stdout, "  %s\n", line); err != nil {
			return err
		}
	}
	return nil
}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command; without one, help lists the commands."`
}

// Run prints the same text as the command's own --help flag.
func (h helpCommand) Run(ctx context.Context, t terminal) error {
	if code := run(ctx, append(h.Command, "--help"), t); code != exitOK {
		return reportedError{code}
	}
	return nil
}
