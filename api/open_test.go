package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// tree is the document, or a part of it.
type tree = map[string]any

func parseTree(t *testing.T) tree {
	t.Helper()
	var document tree
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// find returns the part of the document that is reached by following the names.
func find(document tree, names ...string) any {
	var node any = document
	for _, name := range names {
		node = node.(tree)[name]
	}
	return node
}

// A client that was generated from this document reads the responses of later versions. So a response may have values and
// members that the document does not list, except for the enumerations below, which are complete: a type of event that is in
// none of those lists is that of a YetUnknownEvent.
func TestResponsesAreOpenForLaterVersions(t *testing.T) {
	t.Parallel()
	complete := []string{
		"PetStatus", "OrderStatus", "DeliveryStatus", "Sex", "Size",
		"PetEventType", "CategoryEventType", "OrderEventType", "KeyEventType", "WebhookEventType", "ProfileEventType", "StoreEventType",
	}
	document := parseTree(t)
	closed := map[string]bool{}
	seen := map[string]bool{}
	var walk func(name string, node any)
	walk = func(name string, node any) {
		switch n := node.(type) {
		case []any:
			for _, item := range n {
				walk(name, item)
			}
		case tree:
			if ref, ok := n["$ref"].(string); ok {
				if path := strings.Split(ref, "/"); !seen[ref] {
					seen[ref] = true
					walk(path[len(path)-1], find(document, path[1:]...))
				}
				return
			}
			if n["enum"] != nil {
				closed[name] = true
			}
			if n["additionalProperties"] == false || n["unevaluatedProperties"] == false || n["discriminator"] != nil {
				t.Errorf("%s is closed: clients would refuse what a later version adds to it", name)
			}
			for key, value := range n {
				if key != "headers" && key != "examples" {
					walk(name, value)
				}
			}
		}
	}
	for _, path := range document["paths"].(tree) {
		for _, operation := range path.(tree) {
			walk("", operation.(tree)["responses"])
		}
	}
	walk("", find(document, "webhooks", "event", "post", "requestBody")) // what the service sends to the URL of a webhook
	slices.Sort(complete)
	if got := slices.Sorted(maps.Keys(closed)); !slices.Equal(got, complete) {
		t.Errorf("responses have the closed enumerations %q, want %q", got, complete)
	}
}

// The document has lists of the same values: closed ones for requests, and open ones for responses. Each type of event
// belongs to exactly one schema of events.
func TestListsOfValuesAgree(t *testing.T) {
	t.Parallel()
	document := parseTree(t)
	list := func(schema, member string) (values []string) {
		for _, value := range find(document, "components", "schemas", schema, member).([]any) {
			values = append(values, fmt.Sprint(value))
		}
		return values
	}
	same := func(name string, got, want []string) {
		t.Helper()
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s lists %q, want %q", name, got, want)
		}
	}
	types := list("EventType", "enum")
	same("MessageType", list("MessageType", "x-extensible-enum"), append(slices.Clone(types), "webhook.test"))
	same("GrantedScope", list("GrantedScope", "x-extensible-enum"), list("Scope", "enum"))
	for _, union := range []string{"Event", "Message"} {
		var names, families []string
		for _, choice := range find(document, "components", "schemas", union, "anyOf").([]any) {
			name := strings.TrimPrefix(choice.(tree)["$ref"].(string), "#/components/schemas/")
			names = append(names, name)
			if schemas := find(document, "components", "schemas").(tree); schemas[name+"Type"] != nil {
				families = append(families, list(name+"Type", "enum")...)
			}
		}
		same(union, families, types)
		// Clients take the first schema that fits, and YetUnknownEvent fits all. So it comes last, also in the order of the names.
		if last := names[len(names)-1]; last != "YetUnknownEvent" || slices.Max(names) != last {
			t.Errorf("the last schema of %s is %s, want YetUnknownEvent, with a name after all of %q", union, last, names)
		}
	}
}
