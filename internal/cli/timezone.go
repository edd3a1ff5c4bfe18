package cli

import (
	"fmt"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // provides the time zones if the system has no time zone database, as in an empty container

	"animalstore/internal/shop"
)

// localZone is the value of --time-zone that selects the machine's own time zone.
const localZone = "local"

// parseTimeZone parses the value of --time-zone.
func parseTimeZone(name string) (*time.Location, error) {
	if name == localZone {
		return machineZone(), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || shop.TimeZoneProblem(name) != "" {
		return nil, fmt.Errorf("unknown time zone %q; expected a name such as Europe/Berlin, UTC, or %s for the machine's time zone", name, localZone)
	}
	return zone, nil
}

// machineZone returns the machine's time zone. If possible, the zone has a name that browsers know, such as
// Europe/Berlin.
func machineZone() *time.Location {
	if file, err := os.Readlink("/etc/localtime"); err == nil && time.Local.String() == "Local" {
		if _, name, ok := strings.Cut(file, "zoneinfo/"); ok {
			if zone, err := time.LoadLocation(name); err == nil {
				return zone
			}
		}
	}
	return time.Local
}
