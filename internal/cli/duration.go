package cli

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

const day = 24 * time.Hour

// leadingDays matches a number of days or weeks at the beginning of a duration.
var leadingDays = regexp.MustCompile(`^([0-9]{1,6})([dw])`)

// parseDuration parses a duration. In addition to Go's units, it accepts d for days of 24 hours and w for weeks, as
// in 3d, 2w or 1d12h.
func parseDuration(text string) (time.Duration, error) {
	invalid := fmt.Errorf("invalid duration %q; expected a number with a unit, such as 90m, 24h or 3d", text)
	rest, total := text, time.Duration(0)
	for {
		match := leadingDays.FindStringSubmatch(rest)
		if match == nil {
			break
		}
		days, _ := strconv.Atoi(match[1]) // Atoi cannot fail, because there are at most six digits
		if match[2] == "w" {
			days *= 7
		}
		if total += time.Duration(days) * day; total < 0 || days > 100_000 { // time.Duration holds at most 106,751 days
			return 0, invalid
		}
		if rest = strings.TrimPrefix(rest, match[0]); rest == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || rest != text && (d < 0 || strings.HasPrefix(rest, "+") || total+d < total) {
		return 0, invalid
	}
	return total + d, nil
}

// formatDuration formats a duration without units that are zero, such as 24h instead of 24h0m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// durationMapper makes Kong parse durations in flags and environment variables with parseDuration.
func durationMapper() kong.Option {
	return kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
			return err
		}
		d, err := parseDuration(text)
		if err != nil {
			return err
		}
		target.SetInt(int64(d))
		return nil
	}))
}
