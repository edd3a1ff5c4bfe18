package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"animalstore/client"
)

// jsonField is a field in a JSON object, with its value formatted for people.
type jsonField struct{ name, value string }

// jsonFields returns the fields of a JSON object in order, without its id and timestamps. It returns nil if
// the text is not a JSON object.
func jsonFields(text []byte, times timeFlag) (members []jsonField) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, _ := decoder.Token() // Token cannot fail, because the client has already parsed the object
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil
		}
		if name := name.(string); !slices.Contains([]string{"id", "createdAt", "updatedAt", "lastUsedAt"}, name) {
			members = append(members, jsonField{name, formatValue(value, times)})
		}
	}
	return members
}

// formatValue formats a JSON value for people. It shortens times. It quotes a text only if the end of the text would
// be unclear without quotes. Of photos, it shows the ids and what they show.
func formatValue(value json.RawMessage, times timeFlag) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return times.format(at, "")
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
	texts = nil
	var price client.Price
	if json.Unmarshal(value, &price) == nil && price.Amount != "" {
		return priceText(&price)
	}
	var customer client.Customer
	if json.Unmarshal(value, &customer) == nil && customer != (client.Customer{}) {
		return strings.Join(slices.DeleteFunc([]string{customer.Name, customer.Phone, customer.Email}, func(s string) bool { return s == "" }), " ")
	}
	var photos []client.Photo
	if json.Unmarshal(value, &photos) == nil {
		for _, photo := range photos {
			texts = append(texts, strings.TrimSpace(fmt.Sprint(photo.ID, " ", photo.Alt)))
		}
		return strings.Join(texts, "; ")
	}
	return string(value)
}

// describeChange describes a change in one line. For a created or deleted object, it lists all fields. For an
// updated object, it lists only the fields that have changed.
func describeChange(current, previous []byte, times timeFlag) string {
	now, before := jsonFields(current, times), jsonFields(previous, times)
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
	for _, b := range before {
		if !slices.ContainsFunc(now, func(m jsonField) bool { return m.name == b.name }) {
			parts = append(parts, b.name+" "+b.value+" → none")
		}
	}
	return strings.Join(parts, ", ")
}
