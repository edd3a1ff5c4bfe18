package petcsv

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DateOrder says which number of a date such as 03/04/2024 is the day.
type DateOrder string

const (
	DayFirst   DateOrder = "day"
	MonthFirst DateOrder = "month"
)

// dateEvidence is what the dates of a column say about their order.
type dateEvidence struct {
	onlyDay, onlyMonth bool   // whether there is a date that is valid only with the day or the month first
	either             string // a date that is valid in both ways, but not the same, or ""
}

func (e *dateEvidence) add(cell string) {
	day, month := ReadDate(cell, DayFirst), ReadDate(cell, MonthFirst)
	switch {
	case day == month:
	case month == "":
		e.onlyDay = true
	case day == "":
		e.onlyMonth = true
	case e.either == "":
		e.either = cell
	}
}

// order returns the order of the dates in the column, or "" if they do not show it.
func (e *dateEvidence) order() DateOrder {
	switch {
	case e.onlyMonth && !e.onlyDay:
		return MonthFirst
	case e.onlyDay && !e.onlyMonth, e.either == "" && !e.onlyMonth:
		return DayFirst
	}
	return ""
}

var (
	timeOfDay = regexp.MustCompile(`[T ]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[AaPp][Mm])?Z?$`)
	dateParts = regexp.MustCompile(`[0-9]+|\pL+`)
	dateSigns = regexp.MustCompile(`^[0-9\pL\pM ./,-]+$`)
)

// monthNames are the first three letters of the months in English and German.
var monthNames = map[string]int{
	"jan": 1, "feb": 2, "mar": 3, "mrz": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
}

// ReadDate returns a date as people write it as YYYY-MM-DD, or "" if it is none.
func ReadDate(text string, order DateOrder) string { return readDate(text, order, time.Now()) }

// readDate is ReadDate at the time now. The parameter order decides about dates
// whose numbers are separated by slashes or hyphens. With points, the day always comes first. The time of day is ignored. A
// year with two digits is not in the future.
func readDate(cell string, order DateOrder, now time.Time) string {
	text := timeOfDay.ReplaceAllString(strings.TrimSpace(cell), "")
	parts := dateParts.FindAllString(text, 4)
	if len(parts) != 3 || !dateSigns.MatchString(text) {
		return ""
	}
	number := func(i int) int {
		n, err := strconv.Atoi(parts[i])
		if err != nil || len(parts[i]) > 4 {
			return -1
		}
		return n
	}
	month := func(i int) int {
		if name := fold(parts[i]); number(i) < 0 && len(name) >= 3 {
			return monthNames[name[:3]]
		}
		return number(i)
	}
	isWord := func(i int) bool { return number(i) < 0 }
	y, m, d := 2, 1, 0 // the positions of the year, the month and the day
	switch {
	case len(parts[0]) == 4 && !isWord(0):
		y, m, d = 0, 1, 2
	case isWord(0), order == MonthFirst && !isWord(1) && !strings.Contains(text, "."):
		m, d = 0, 1
	}
	year := number(y)
	if len(parts[y]) == 2 {
		if year += 2000; year > now.Year() {
			year -= 100
		}
	} else if len(parts[y]) != 4 {
		return ""
	}
	date := time.Date(year, time.Month(month(m)), number(d), 0, 0, 0, 0, time.UTC)
	if year < 1 || date.Year() != year || int(date.Month()) != month(m) || date.Day() != number(d) {
		return ""
	}
	return date.Format(time.DateOnly)
}
