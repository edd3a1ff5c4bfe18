package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"animalstore/client"
)

func (set *toolSet) addEventTools() {
	add(set, "recent_activity", "Show recent activity", client.ScopeEventsRead, reads,
		"Lists the latest changes in the store, newest first: what changed, when, and which API key did it. All filters combine with \"and\".",
		recentActivity)
}

type recentActivityInput struct {
	Subject string    `json:"subject,omitempty" jsonschema:"only changes of this resource, such as pets/7 for animal 7, store/orders/3 or categories/2"`
	Type    string    `json:"type,omitempty" jsonschema:"only changes of this type, such as pet.created, pet.updated, order.placed or order.cancelled"`
	Actor   string    `json:"actor,omitempty" jsonschema:"only changes by this actor: keys/ID for an API key, configured, or system for holds that ended"`
	Since   time.Time `json:"since,omitzero" jsonschema:"only changes at this time or later, such as 2027-01-31T18:00:00Z"`
	Limit   limit     `json:"limit,omitempty" jsonschema:"how many changes at most; 20 unless given"`
}

// activity is the description of an event for a model.
type activity struct {
	Time    time.Time        `json:"time"`
	Type    client.EventType `json:"type"`
	Subject string           `json:"subject" jsonschema:"the resource that changed, such as pets/7"`
	Actor   string           `json:"actor" jsonschema:"who made the change: keys/ID, configured or system"`
	Change  string           `json:"change,omitempty" jsonschema:"the members that changed, before and after"`
}

type activityList struct {
	Changes []activity `json:"changes"`
}

func recentActivity(ctx context.Context, s session, in recentActivityInput) (activityList, error) {
	query := client.EventQuery{EventFilter: client.EventFilter{Subject: in.Subject, Actor: in.Actor, Since: in.Since}}
	if in.Type != "" {
		query.Types = []client.EventType{client.EventType(in.Type)}
	}
	events, err := s.LatestEvents(ctx, query, in.Limit.orDefault())
	return activityList{newestFirst(events)}, err
}

func (l activityList) text() string {
	return listText("change", "changes", l.Changes, activity.text)
}

func (a activity) text() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s %s by %s: %s", timeText(a.Time), a.Type, a.Subject, a.Actor, a.Change), ": ")
}

// historyText returns one line for each change. These lines follow the line that describes the resource.
func historyText(changes []activity) string {
	var text strings.Builder
	for _, change := range changes {
		text.WriteString("\n" + change.text())
	}
	return text.String()
}

// historyPage is the number of events about a resource that history reads first. Few resources have more.
const historyPage = 100

// history returns the latest changes to a resource, newest first, at most defaultLimit of them.
func history(ctx context.Context, s session, subject string) ([]activity, error) {
	query := client.EventQuery{EventFilter: client.EventFilter{Subject: subject}, Limit: historyPage}
	events, next, err := s.ListEvents(ctx, query)
	if err == nil && next != "" {
		events, err = s.LatestEvents(ctx, query, defaultLimit)
	}
	return newestFirst(events[max(0, len(events)-defaultLimit):]), err
}

// newestFirst describes events and reverses their order.
func newestFirst(events []client.Event) []activity {
	list := make([]activity, 0, len(events))
	for _, e := range slices.Backward(events) {
		list = append(list, activity{e.Time, e.Type, e.Subject, e.Actor, describeChange(e.Data)})
	}
	return list
}

// describeChange describes a change in one line. For a created or deleted resource, it lists all members. For a changed
// resource, it lists only the members that differ.
func describeChange(d client.EventData) string {
	before, now := members(d.Previous), members(d.Current)
	if d.Current == nil {
		before, now = nil, before
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch old, existed := before[name]; {
		case !existed:
			parts = append(parts, fmt.Sprintf("%s %s", name, now[name]))
		case old != now[name]:
			parts = append(parts, fmt.Sprintf("%s %s → %s", name, old, now[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, left := now[name]; !left {
			parts = append(parts, fmt.Sprintf("%s %s → none", name, before[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// members returns the members of a JSON object as JSON, without its id and timestamps.
func members(object json.RawMessage) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal(object, &raw) != nil {
		return nil
	}
	list := map[string]string{}
	for name, value := range raw {
		if name != "id" && name != "createdAt" && name != "updatedAt" {
			list[name] = string(value)
		}
	}
	return list
}
