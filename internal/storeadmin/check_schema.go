package storeadmin

import (
	"maps"
	"slices"
)

// compareSchemas reports objects that are missing, differ from the migrations or do not belong to the store. usable is
// true if no table is missing or different. Only then can the rules be checked.
func (c *checker) compareSchemas(want, got map[string]string) (usable bool) {
	usable = true
	for _, name := range sortedKeys(want) {
		statement, found := got[name]
		switch {
		case !found:
			c.finding("schema: the %s is missing", name)
		case statement != want[name]:
			c.finding("schema: the %s differs from the migrations", name)
		default:
			continue
		}
		usable = usable && name[:5] != "table"
	}
	for _, name := range sortedKeys(got) {
		if _, known := want[name]; !known {
			c.finding("schema: the %s does not belong to the store", name)
		}
	}
	return usable
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
