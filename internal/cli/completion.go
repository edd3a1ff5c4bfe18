package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"animalstore/internal/shop"
)

//go:embed completion
var completionScripts embed.FS

type completionCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	Words []string `arg:"" optional:"" help:"Words of a command line, to print what can follow instead of the script, which uses this."`
}

// Help says how to load the scripts.
func (completionCommand) Help() string {
	return "Put the line for your shell into its startup file:\n\n" +
		"    bash: eval \"$(animalstore completion bash)\"\n" +
		"    zsh:  source <(animalstore completion zsh)   (after compinit)\n" +
		"    fish: animalstore completion fish | source\n\n" +
		"The Debian package installs the scripts."
}

// completeFiles is printed instead of candidates to make the shell complete file names.
const completeFiles = ":files"

// Run prints the completion script for the shell. If words are given, it instead prints the candidates for the last
// word, one per line.
func (c completionCommand) Run(app *kong.Kong, t terminal) error {
	if len(c.Words) == 0 {
		script, err := completionScripts.ReadFile("completion/animalstore." + c.Shell)
		if err == nil {
			_, err = t.out.Write(script)
		}
		return err
	}
	for _, found := range complete(app.Model.Node, c.Words) {
		if _, err := fmt.Fprintln(t.out, found.line(c.Shell)); err != nil {
			return err
		}
	}
	return nil
}

// candidate is a word that the shell may insert.
type candidate struct{ word, description string }

// line formats a candidate as the script for the shell expects it.
func (c candidate) line(shell string) string {
	switch {
	case c.word == completeFiles || shell == "bash":
		return c.word
	case shell == "zsh":
		c.word = strings.ReplaceAll(c.word, ":", `\:`)
		if c.description == "" {
			return c.word
		}
		return c.word + ":" + c.description
	}
	return c.word + "\t" + c.description
}

// complete returns the candidates for the last word. The words before it select the command.
func complete(root *kong.Node, words []string) []candidate {
	last := len(words) - 1
	before, current := words[:last], words[last]
	if len(before) > 0 && before[0] == "help" {
		node, _, _ := followWords(root, before[1:])
		return withPrefix(current, commandCandidates(node))
	}
	node, positional, pending := followWords(root, before)
	switch name, value, assigned := strings.Cut(current, "="); {
	case pending != nil:
		return valueCandidates(node, pending, "", current)
	case assigned && strings.HasPrefix(name, "--"):
		if flag := findFlag(node, name); flag != nil {
			return valueCandidates(node, flag, name+"=", value)
		}
		return nil
	case strings.HasPrefix(current, "-"):
		return withPrefix(current, flagCandidates(node))
	case positional < len(node.Positional):
		return argumentCandidates(node.Positional[positional], current)
	}
	return withPrefix(current, commandCandidates(node))
}

// followWords returns the command that the words select and the number of positional arguments among the words. If the
// last word is a flag that needs a value, followWords also returns this flag. If not, the flag is nil.
func followWords(node *kong.Node, words []string) (selected *kong.Node, positional int, pending *kong.Flag) {
	for _, word := range words {
		if pending != nil {
			pending = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			if flag := findFlag(node, word); flag != nil && !flag.IsBool() {
				pending = flag
			}
			continue
		}
		child := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == word })
		if child < 0 {
			positional++
			continue
		}
		node = node.Children[child]
	}
	return node, positional, pending
}

// flags returns the flags that a command's help shows.
func flags(node *kong.Node) (list []*kong.Flag) {
	for _, group := range node.AllFlags(true) {
		for _, flag := range group {
			if flag.Name != "version" || node.Parent == nil {
				list = append(list, flag)
			}
		}
	}
	return list
}

// findFlag returns the flag that a word such as --output or -o stands for, or nil if there is none.
func findFlag(node *kong.Node, word string) *kong.Flag {
	for _, flag := range flags(node) {
		if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag
		}
	}
	return nil
}

func flagCandidates(node *kong.Node) (list []candidate) {
	for _, flag := range flags(node) {
		list = append(list, candidate{"--" + flag.Name, flag.Help})
	}
	return list
}

func commandCandidates(node *kong.Node) (list []candidate) {
	for _, child := range node.Children {
		list = append(list, candidate{child.Name, child.Help})
	}
	return list
}

// argumentCandidates returns the candidates for a positional argument, such as the shell after "animalstore
// completion".
func argumentCandidates(argument *kong.Value, current string) []candidate {
	if argument.Name == "file" {
		return []candidate{{completeFiles, ""}}
	}
	return withPrefix(current, wordCandidates("", argument.EnumSlice()))
}

// valueCandidates returns the candidates for the value of a flag. before is the part of the word that precedes the
// value, such as "--status=". Every candidate begins with it.
func valueCandidates(node *kong.Node, flag *kong.Flag, before, current string) []candidate {
	if slices.Contains([]string{"FILE", "DIR", "DATABASE"}, flag.PlaceHolder) {
		return []candidate{{completeFiles, ""}}
	}
	values := fixedValues(node, flag)
	if comma := strings.LastIndex(current, ","); flag.IsSlice() && comma >= 0 {
		given := strings.Split(current[:comma], ",")
		values = slices.DeleteFunc(values, func(value string) bool { return slices.Contains(given, value) })
		before, current = before+current[:comma+1], current[comma+1:]
	}
	return withPrefix(before+current, wordCandidates(before, values))
}

// fixedValues returns the values that a flag accepts. It returns nothing if these values are not a fixed set.
func fixedValues(node *kong.Node, flag *kong.Flag) []string {
	switch flag.PlaceHolder {
	case "STATUS":
		if strings.HasPrefix(node.Path(), "orders") {
			return texts(shop.OrderStatuses())
		}
		return texts(shop.Statuses())
	case "KIND":
		return texts(shop.Kinds())
	case "ROLE":
		return texts(shop.Roles())
	case "SCOPE":
		return texts(shop.Scopes())
	case "TYPE":
		return texts(shop.EventTypes())
	}
	return flag.EnumSlice()
}

func texts[T ~string](values []T) (list []string) {
	for _, value := range values {
		list = append(list, string(value))
	}
	return list
}

func wordCandidates(before string, words []string) (list []candidate) {
	for _, word := range words {
		if word != "" { // in an enumeration, the empty word stands for the default
			list = append(list, candidate{before + word, ""})
		}
	}
	return list
}

func withPrefix(prefix string, list []candidate) []candidate {
	return slices.DeleteFunc(list, func(c candidate) bool { return !strings.HasPrefix(c.word, prefix) })
}
