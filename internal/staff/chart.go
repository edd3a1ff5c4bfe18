package staff

import (
	"fmt"

	"animalstore/internal/shop"
)

// chart is a bar chart with the arrivals and the sales of each day. A day is ten units wide, and an animal is
// one unit high.
type chart struct {
	Max, Middle int64 // the numbers on the scale
	Width       int
	Days        []chartDay
	Labels      []shop.Date // the days that the axis names
}

type chartDay struct {
	X               int
	Title           string
	Arrivals, Sales bar
}

// bar holds the distance of a bar's top from the top of the chart, and the bar's height.
type bar struct{ Y, Height int64 }

// labelEvery is the number of days between two labels on the axis.
const labelEvery = 5

func (p *Pages) newChart(days []shop.DayStats) chart {
	largest := int64(0)
	for _, day := range days {
		largest = max(largest, day.Arrivals, day.Sales)
	}
	c := chart{Max: scaleMax(largest), Width: 10 * len(days)}
	c.Middle = c.Max / 2
	for i, day := range days {
		c.Days = append(c.Days, chartDay{
			X:        10 * i,
			Title:    fmt.Sprintf("%s: %s, %s", day.Day.UTC().Format("2 Jan"), count(day.Arrivals, "arrival"), count(day.Sales, p.word("sale"))),
			Arrivals: bar{c.Max - day.Arrivals, day.Arrivals},
			Sales:    bar{c.Max - day.Sales, day.Sales},
		})
		if (len(days)-1-i)%labelEvery == 0 {
			c.Labels = append(c.Labels, day.Day)
		}
	}
	return c
}

// scaleMax returns the largest number on the scale: the first of 4, 6, 10, 16, 20, 40, 60, 100 and so on that is at
// least n.
func scaleMax(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, limit := range []int64{4, 6, 10, 16, 20} {
			if n <= limit*unit {
				return limit * unit
			}
		}
	}
}
