package cli

import (
	"slices"
	"strings"
)

// A table has aligned columns. On a terminal its last column is cut to what is
// left of the width.
type table struct {
	head []string
	rows [][]string
	// look paints a cell that is padded already; nil: plain.
	look func(row, column int, cell string) string
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = oneLine(cells[i])
	}
	t.rows = append(t.rows, cells)
}

const columnGap = 2

// text lays the table out in limit columns; 0 is no limit. Columns in which no
// row says anything are left out.
func (t *table) text(limit int, st style) string {
	widths := make([]int, len(t.head))
	last := -1
	for i := range t.head {
		for _, row := range t.rows {
			widths[i] = max(widths[i], columns(row[i]))
		}
		if widths[i] > 0 {
			widths[i] = max(widths[i], columns(t.head[i]))
			last = i
		}
	}
	var b strings.Builder
	line := func(cells []string, look func(column int, cell string) string) {
		used := 0
		for i, cell := range cells {
			switch {
			case widths[i] == 0:
			case i == last:
				if limit > 0 {
					cell = cut(cell, max(limit-used, 10))
				}
				b.WriteString(look(i, cell))
			default:
				pad := widths[i] - columns(cell) + columnGap
				b.WriteString(look(i, cell))
				if slices.ContainsFunc(cells[i+1:last+1], func(cell string) bool { return cell != "" }) {
					b.WriteString(strings.Repeat(" ", pad))
				}
				used += widths[i] + columnGap
			}
		}
		b.WriteByte('\n')
	}
	line(t.head, func(_ int, cell string) string { return st.bold(cell) })
	for n, row := range t.rows {
		line(row, func(i int, cell string) string {
			if t.look == nil {
				return cell
			}
			return t.look(n, i, cell)
		})
	}
	return b.String()
}
