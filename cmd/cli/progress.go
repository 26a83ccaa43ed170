package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressMode is how a pass shows that it is alive.
type progressMode string

const (
	progressAuto  progressMode = "auto"  // a bar on a terminal, else nothing
	progressPlain progressMode = "plain" // a line from time to time
	progressNone  progressMode = "none"
)

// progressModes are the values of --progress.
var progressModes = []progressMode{progressAuto, progressPlain, progressNone}

const (
	plainInterval = 10 * time.Second // between two lines of plain progress
	barInterval   = 100 * time.Millisecond
)

// meter counts the work of one step and shows it. A nil meter counts nothing. It is
// for one goroutine at a time.
type meter struct {
	title, unit string
	done, total int64 // total is negative while unknown
	bar         *progressbar.ProgressBar
	plain       io.Writer // where plain lines go, nil for none
	now         func() time.Time
	shown       time.Time
	drawn       bool // the bar stands on the screen
}

// meter starts showing a step of total units; a negative total is not known.
func (v *invocation) meter(title, unit string, total int64) *meter {
	m := &meter{title: title, unit: unit, total: total, now: v.env.Now}
	switch {
	case v.globals.quiet || v.globals.progress == progressNone:
	case v.globals.progress == progressPlain:
		m.plain, m.shown = v.env.Stderr, m.now()
	case v.env.StderrTerminal && v.env.Getenv("TERM") != "dumb":
		m.bar = newBar(v.env.Stderr, title, total)
	}
	v.out.progress = m
	return m
}

func newBar(w io.Writer, title string, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(barInterval),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own
		progressbar.OptionClearOnFinish(),
	)
}

// add counts n more units.
func (m *meter) add(n int64) {
	if m == nil {
		return
	}
	m.set(m.done + n)
}

// set says how many units are done.
func (m *meter) set(done int64) {
	if m == nil {
		return
	}
	m.done = done
	if m.bar != nil {
		_ = m.bar.Set64(done) // a bar that cannot be drawn is not missed
		m.drawn = true
		return
	}
	if m.plain == nil {
		return
	}
	if now := m.now(); now.Sub(m.shown) >= plainInterval {
		m.shown = now
		fmt.Fprintf(m.plain, "agentsync: progress: %s\n", m)
	}
}

// grow says how many units there are altogether.
func (m *meter) grow(total int64) {
	if m == nil || total == m.total {
		return
	}
	m.total = total
	if m.bar != nil {
		m.bar.ChangeMax64(total)
		m.drawn = true
	}
}

// String is the plain form: what, how far, of how much.
func (m *meter) String() string {
	if m.total < 0 {
		return fmt.Sprintf("%s: %d %s", m.title, m.done, m.unit)
	}
	return fmt.Sprintf("%s: %d of %d %s", m.title, m.done, m.total, m.unit)
}

// hide clears the bar's line, so that another line can be printed.
func (m *meter) hide() {
	if m != nil && m.drawn {
		_ = m.bar.Clear()
		m.drawn = false
	}
}
