package cli

import (
	"slices"
	"strings"
)

const (
	columnGap   = 2   // blanks between two columns
	minFlexible = 8   // columns that a flexible column keeps, however narrow the terminal
	maxFlexible = 400 // columns that it takes at most, however wide
)

// column is one column of a people's table.
type column struct {
	title    string
	flexible bool // may be cut to make the table fit
	keepEnd  bool // what is cut stands before, as of a path
	right    bool // numbers
}

// table collects rows and lays them out once all are known.
type table struct {
	columns []column
	rows    [][]string
}

func newTable(columns ...column) *table { return &table{columns: columns} }

// row adds one row, cleaned for a terminal. Missing cells are empty.
func (t *table) row(cells ...string) {
	row := make([]string, len(t.columns))
	for i := range row {
		if i < len(cells) {
			row[i] = clean(cells[i])
		}
		if t.columns[i].flexible {
			row[i] = cut(row[i], maxFlexible)
		}
	}
	t.rows = append(t.rows, row)
}

// lines returns the table, head first, cut to width columns where it can be: the
// widest flexible column gives way first. A table without rows has no lines.
func (t *table) lines(width int) []string {
	if len(t.rows) == 0 {
		return nil
	}
	t.dropEmpty()
	widths := t.fit(width)
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.title
	}
	lines := make([]string, 0, len(t.rows)+1)
	lines = append(lines, t.line(head, widths))
	for _, row := range t.rows {
		lines = append(lines, t.line(row, widths))
	}
	return lines
}

// dropEmpty removes the columns in which no row says anything.
func (t *table) dropEmpty() {
	for i := len(t.columns) - 1; i >= 0; i-- {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		t.columns = slices.Delete(t.columns, i, i+1)
		for r := range t.rows {
			t.rows[r] = slices.Delete(t.rows[r], i, i+1)
		}
	}
}

// fit returns the width of each column.
func (t *table) fit(width int) []int {
	widths := make([]int, len(t.columns))
	total := columnGap * (len(t.columns) - 1)
	for i, c := range t.columns {
		widths[i] = textWidth(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], textWidth(row[i]))
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := -1
		for i, c := range t.columns {
			if c.flexible && widths[i] > minFlexible && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func (t *table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		if t.columns[i].keepEnd {
			cell = cutFront(cell, widths[i])
		}
		cell = cut(cell, widths[i])
		pad := strings.Repeat(" ", max(0, widths[i]-textWidth(cell)))
		if t.columns[i].right {
			b.WriteString(pad + cell)
			continue
		}
		b.WriteString(cell + pad)
	}
	return strings.TrimRight(b.String(), " ")
}
