package collect

import (
	"context"
	"time"

	"agentsync/collect/value"
)

// Driver reads one source's sessions. It wakes no agent and changes no file.
// Start comes before every other call and Stop after the last one.
type Driver interface {
	// Source describes the source; capabilities may grow while a live driver learns them.
	Source() Descriptor
	Start(ctx context.Context) error
	Stop() error
	// ListSessions returns the page of the inventory at cursor, "" for the first.
	// An inventory that cannot be trusted to be whole is an error, never a short page.
	ListSessions(ctx context.Context, cursor string) (Page, error)
	// ReadSession opens one session's history. With a resume whose position still
	// holds, the snapshot starts there (see Snapshot.At); otherwise at the beginning.
	ReadSession(ctx context.Context, nativeSessionID string, from *Resume) (Snapshot, error)
	// Summarize reads one session's summary without its history.
	Summarize(ctx context.Context, nativeSessionID string) (Summary, error)
}

// Known is where a published session's file lay, and the id that it was published under.
type Known struct {
	Placement       Placement
	NativeSessionID string
}

// Knower is a Driver in whose source several files can claim one id, as copies of a
// session do. A file keeps the id that it was published under for good, whatever other
// files come and go; only one that was never published is given an id by today's rules.
type Knower interface {
	// Know tells what was published of the source. It comes before an inventory, and
	// replaces what was told before.
	Know(published []Known)
}

// Env is what a driver may know of the process it runs in.
type Env struct {
	Now    time.Time // the pass's one reading of the clock
	Home   string    // "" when there is none
	Getenv func(string) string
	Temp   string // folder for files that live no longer than the pass; "" keeps such things in memory
	Memory Memory // what sources remember from pass to pass; nil remembers nothing
}

// Memory keeps small facts that a source must not forget between two short passes, such
// as the mode that a session was set to. Each source sees its own. It serves many
// goroutines.
type Memory interface {
	// Recall returns what was remembered under a session's id ("" for the source itself)
	// and a key, and whether there is anything.
	Recall(sourceID, nativeSessionID, key string) (text string, found bool)
	// Remember replaces it, durably; "" forgets it.
	Remember(ctx context.Context, sourceID, nativeSessionID, key, text string) error
}

// SourceConfig describes one logical source, as the configuration names it.
type SourceConfig struct {
	ID                    string
	Driver                string // claude-agent-sdk, codex-app-server, acp, …
	Enabled               bool
	Command               []string
	Cwd                   string
	Env                   map[string]string
	ConfigDir             string // Claude's configuration folder
	CodexBin              string
	CodexHome             string
	CodexTransport        string
	CodexSocket           string
	AllowDangerFullAccess bool
	Opener                []string // program and arguments that open a link, for starts in an app; the link is added
	Roots                 []string // folders to read instead of the driver's standard one
	Symlinks              string   // follow or skip ("" is skip): roots and folders that are links
}

// Descriptor names a source and what its driver can do.
type Descriptor struct {
	ID           string // trimmed and lower-cased
	Driver       string
	Version      string // provider version, "" when unknown
	Capabilities Capabilities
}

// Capabilities are the operations a source offers, as published in its index row.
type Capabilities struct {
	Inventory    bool
	Read         bool
	Prompt       bool
	Cancel       bool
	Rename       bool
	StartSession bool
	SetMode      bool
	SetOption    bool
	Modes        []string    // sorted
	ModesUnknown bool        // no session was asked for its modes: those that are published count
	Options      value.Value // a record of option descriptions by option id; the zero Value for none
}

// startedAs is the key under which a source remembers the id that a caller chose for a
// start, where the agent gave its session another one.
const startedAs = "startedAs"

// RememberStart keeps which start a session came from. Without a memory it is forgotten.
func RememberStart(ctx context.Context, m Memory, sourceID, nativeSessionID, asked string) error {
	if m == nil || asked == nativeSessionID {
		return nil
	}
	return m.Remember(ctx, sourceID, nativeSessionID, startedAs, asked)
}

// StartOf is the id that RememberStart kept for a session, "" for none.
func StartOf(m Memory, sourceID, nativeSessionID string) string {
	if m == nil {
		return ""
	}
	asked, _ := m.Recall(sourceID, nativeSessionID, startedAs)
	return asked
}
