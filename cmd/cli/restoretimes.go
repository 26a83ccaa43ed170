package cli

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect/drivers"
	"agentsync/publish"
	"agentsync/publish/document"
)

// times decides the time that each restored file gets. Its own, unless an agent would
// take the file for old and remove it again.
type times struct {
	now    time.Time
	asked  *bool // --touch, nil when it was not given
	own    bool  // files go into the agents' own folders
	mu     sync.Mutex
	keeps  map[[2]string]time.Duration // by driver and folder
	endsAt map[string]time.Duration    // sessions that their agent will remove, by key
	gotNow map[string]time.Duration    // sessions that got the time of now, by key
}

func (v *invocation) newTimes(c *urfave.Context) *times {
	t := &times{now: v.env.Now(), own: !c.IsSet("to"), keeps: map[[2]string]time.Duration{},
		endsAt: map[string]time.Duration{}, gotNow: map[string]time.Duration{}}
	if c.IsSet("touch") {
		asked := c.Bool("touch")
		t.asked = &asked
	}
	return t
}

// of is the time for the files of a row that go below folder. It serves many goroutines.
func (t *times) of(row *document.Row, folder string, at time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	keeps := t.period(row.Driver, folder)
	old := t.own && keeps > 0 && !at.IsZero() && t.now.Sub(at) > keeps
	switch {
	case t.asked != nil && *t.asked, t.asked == nil && old:
		t.gotNow[row.Key] = keeps
		return t.now
	case old:
		t.endsAt[row.Key] = keeps
	}
	return at
}

// period is after how long the agent removes a file in a folder of its own, 0 for never.
func (t *times) period(driver, folder string) time.Duration {
	key := [2]string{driver, folder}
	if _, known := t.keeps[key]; !known {
		t.keeps[key] = drivers.CleanUpAfter(driver, folder)
	}
	return t.keeps[key]
}

// tell says of the sessions of which a file was written which got another time, and which
// their agent will remove again.
func (t *times) tell(o *output, files []publish.RestoredFile) {
	wrote := map[string]bool{}
	for _, f := range files {
		switch f.Status {
		case publish.FileWritten, publish.FileReplaced, publish.FileWouldBe, publish.FileWouldHide:
			wrote[f.Key] = true
		}
	}
	for _, periods := range []map[string]time.Duration{t.gotNow, t.endsAt} {
		maps.DeleteFunc(periods, func(key string, _ time.Duration) bool { return !wrote[key] })
	}
	if n := len(t.gotNow); n > 0 && t.asked == nil {
		o.warn("%s older than what their agent keeps (%s): their files get the time of now, or it would remove them again; --touch=false keeps the times",
			counted(n, "session is", "sessions are"), daysOf(t.gotNow))
	}
	if n := len(t.endsAt); n > 0 {
		o.warn("%s older than what their agent keeps (%s): it will remove their files again when it starts", counted(n, "session is", "sessions are"), daysOf(t.endsAt))
	}
}

// daysOf names the shortest of several periods.
func daysOf(periods map[string]time.Duration) string {
	shortest := time.Duration(1<<63 - 1)
	for _, p := range periods {
		shortest = min(shortest, p)
	}
	return counted(int(shortest/(24*time.Hour)), "day", "days")
}

// resolved follows the links of a directory of this machine, as far as it is there: agents
// name folders after the real path.
func resolved(dir string) string {
	if !filepath.IsAbs(dir) {
		return dir
	}
	rest := ""
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		} else if !os.IsNotExist(err) || filepath.Dir(at) == at {
			return dir
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
