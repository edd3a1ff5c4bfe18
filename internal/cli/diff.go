package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// jsonField is one of a JSON object, for people.
type jsonField struct{ name, value string }

// jsonFields reads an object's members in their order, but for those that say nothing of a change. What is no object has none.
func jsonFields(text []byte) (members []jsonField) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, _ := decoder.Token() // of an object that was read before
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil
		}
		if name := name.(string); !slices.Contains([]string{"id", "createdAt", "updatedAt", "lastUsedAt"}, name) {
			members = append(members, jsonField{name, formatValue(value)})
		}
	}
	return members
}

// formatValue is a value as people write it: a short time, and a text without quotes where it is clear where it ends.
func formatValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return formatTime(at, "")
		}
		if strings.Contains(text, ",") || strings.Contains(text, "→") {
			return `"` + text + `"`
		}
		return text
	}
	var texts []string
	if json.Unmarshal(value, &texts) == nil {
		return strings.Join(texts, " ")
	}
	return string(value)
}

// describeChange says in one line what became of something: all of it where it came or went, else what is different.
func describeChange(current, previous []byte) string {
	now, before := jsonFields(current), jsonFields(previous)
	if now == nil {
		now, before = before, nil
	}
	var parts []string
	for _, m := range now {
		i := slices.IndexFunc(before, func(b jsonField) bool { return b.name == m.name })
		switch {
		case i < 0:
			parts = append(parts, m.name+" "+m.value)
		case before[i].value != m.value:
			parts = append(parts, m.name+" "+before[i].value+" → "+m.value)
		}
	}
	return strings.Join(parts, ", ")
}
