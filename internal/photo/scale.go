package photo

// one is the sum of the weights of a span.
const one = 1 << 15

// span says which samples are averaged to one output sample, and how much each of them counts.
type span struct {
	first   int
	weights []uint16
}

// spans returns the spans that scale a line of size pixels to a line of n pixels. A sample covers several pixels if the
// line is subsampled by a ratio above 1. Each output pixel is the average of the area that it covers.
func spans(size, ratio, n int) []span {
	all := make([]span, n)
	// Positions are counted in units of 1/(n*ratio) of a sample. So each output pixel has size units.
	unit := n * ratio
	weights := make([]uint16, 0, n+size/ratio+n)
	for i := range all {
		begin, end := i*size, (i+1)*size
		first, covered := len(weights), 0
		for at := begin; at < end; {
			next := min(end, (at/unit+1)*unit)
			before := covered
			covered = (next - begin) * one / size // the rounded weights add up to one
			weights = append(weights, uint16(covered-before))
			at = next
		}
		all[i] = span{first: begin / unit, weights: weights[first:]}
	}
	return all
}

// average scales an image by area averaging. lines returns a line of the image, with a slice for each channel. The result
// has a plane for each channel.
func average(channels int, columns, rows []span, lines func(y int) [][]byte) [][]byte {
	planes, narrow, sums := make([][]byte, channels), make([][]uint16, channels), make([][]uint32, channels)
	for c := range planes {
		planes[c] = make([]byte, len(columns)*len(rows))
		narrow[c] = make([]uint16, len(columns))
		sums[c] = make([]uint32, len(columns))
	}
	last := -1 // the line in narrow
	for r, row := range rows {
		for k, weight := range row.weights {
			if y := row.first + k; y != last {
				for c, line := range lines(y) {
					averageLine(narrow[c], line, columns)
				}
				last = y
			}
			for c := range channels {
				addLine(sums[c], narrow[c], uint32(weight))
			}
		}
		for c, plane := range planes {
			takeLine(plane[r*len(columns):], sums[c])
		}
	}
	return planes
}

// averageLine averages the samples of a line. The result has 8 bits more than the samples.
func averageLine(result []uint16, line []byte, columns []span) {
	for i := range columns {
		column := &columns[i]
		samples := line[column.first:][:len(column.weights)]
		sum := uint32(0)
		for k, weight := range column.weights {
			sum += uint32(weight) * uint32(samples[k])
		}
		result[i] = uint16((sum + one>>9) / (one >> 8))
	}
}

// addLine adds a line to the sums of an output line.
func addLine(sums []uint32, line []uint16, weight uint32) {
	line = line[:len(sums)]
	for i := range sums {
		sums[i] += uint32(line[i]) * weight
	}
}

// takeLine writes the samples of an output line and sets the sums to zero.
func takeLine(line []byte, sums []uint32) {
	line = line[:len(sums)]
	for i, sum := range sums {
		line[i] = byte((sum + one<<7) / (one << 8))
	}
	clear(sums)
}
