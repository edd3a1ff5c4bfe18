package shoptest

import (
	"encoding/binary"
	"time"
)

// zoneRules contains the rules of the time zones that tests use, in the format of the TZ variable of POSIX. Tests do
// not load them from the machine, because its time zone data changes with every release of tzdata.
var zoneRules = map[string]string{
	"UTC":                 "UTC0",
	"America/Havana":      "CST5CDT,M3.2.0/0,M11.1.0/1",
	"America/New_York":    "EST5EDT,M3.2.0,M11.1.0",
	"America/Santiago":    "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
	"America/Sao_Paulo":   "<-03>3",
	"Asia/Kathmandu":      "<+0545>-5:45",
	"Asia/Tokyo":          "JST-9",
	"Australia/Lord_Howe": "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
	"Europe/Berlin":       "CET-1CEST,M3.5.0,M10.5.0/3",
}

// Zone returns the time zone with the given name, with the same rules on every machine and in every year. It panics
// if zoneRules does not contain the name.
func Zone(name string) *time.Location {
	rules, known := zoneRules[name]
	if !known {
		panic("shoptest: no rules for the time zone " + name)
	}
	// A file in the format of RFC 9636 consists of a block for old readers, a block without transitions, and the rules.
	block := func(version byte) []byte {
		data := append([]byte("TZif"), version)
		data = append(data, make([]byte, 15)...)
		for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one local time type, four bytes of abbreviations
			data = binary.BigEndian.AppendUint32(data, count)
		}
		data = append(data, 0, 0, 0, 0, 0, 0) // the local time type: UTC, standard time, the first abbreviation
		return append(data, "UTC\x00"...)
	}
	data := append(append(block('2'), block('2')...), "\n"+rules+"\n"...)
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		panic("shoptest: " + err.Error())
	}
	return zone
}
