// Package collect gets sessions from the agents' own stores, and operates on
// them at the provider's boundary. It knows nothing of chunks, stores or receipts.
package collect

import (
	"math"

	"agentsync/collect/value"
)

// Page is one page of a source's inventory.
type Page struct {
	Sessions   []Listing
	NextCursor string // "" ends the inventory
	// Problems are parts of the source that could not be listed. Any of them makes
	// the inventory incomplete.
	Problems []Problem
	// Notes are things seen and deliberately left out, such as a link that is not followed.
	Notes []Problem
	// Aside are places that the configuration leaves aside. There is nothing to tell of them,
	// unless something was published from there.
	Aside []Problem
	// Absent reports that the source has no folder at all: nothing was listed because
	// nothing is there. Absence alone never marks a session deleted. A folder that a
	// configuration names and that is not there is a CodeFolderMissing problem as well.
	Absent bool
}

// Listing is one session as the inventory sees it, without opening its history.
type Listing struct {
	NativeSessionID string
	Parent          string // native id of the session it belongs to, "" for none
	Stamp           Stamp  // zero when the source has no files to stamp
	Placement       Placement
	Summary         *Summary // set where the inventory gives it for free, else nil
}

// Placement is where a session lies among its agent's files. It takes part in no hash:
// a session is the same wherever it lies. The zero Placement is no file's.
type Placement struct {
	Root      string // absolute folder of a source that reads several, "" for the only one
	Path      string // of the file, or of the folder of a set of side files, below the root, with slashes
	Container string // zstd for a compressed file, else ""
}

// Stamp is what a file system tells of a session without opening it. Equal stamps
// are a claim that nothing changed, not a proof.
type Stamp struct {
	Device, Inode uint64
	Size          int64  // bytes
	ModTime       int64  // nanoseconds since 1970 UTC
	ChangeTime    int64  // of the file's record, likewise: no program sets it back; 0 where there is none
	Side          uint64 // digest of the stamps of side files that its summary is read from
}

// Summary is a session's normalized metadata. Pointers are nil where the provider
// does not say.
type Summary struct {
	NativeSessionID string
	Title           *string
	Cwd             *string
	CreatedAt       *string // YYYY-MM-DDTHH:MM:SS.mmmZ
	UpdatedAt       *string
	Archived        *bool
	Active          *bool
	StartedAs       string      // native id a caller chose for a desktop start, "" for none
	Parent          string      // native id of the session it belongs to, "" for none
	Hidden          bool        // no conversation of a person's: the provider's own lists leave it out
	Raw             value.Value // the provider's summary, a record
	Placement       Placement
}

// Snapshot is one session's history, read as it is consumed: one event at a time,
// in the provider's order, never ahead.
type Snapshot interface {
	// At is where the event that Next will return stands: at first the zero Position
	// or, when the resume was accepted, the resume's. It is cheap.
	At() Position
	// Grown reports that the resume's claim held: all bytes read then stand, and more may
	// follow.
	Grown() bool
	// Next captures the next event on the tape; io.EOF ends the history.
	Next(tape *value.Tape) (Event, error)
	// Finish is called once after io.EOF and says what was read. A *ChangedError
	// says that the session changed underneath, and nothing read may be used.
	Finish() (Trailer, error)
	Close() error
}

// Published is the copy of a set of files as it was published before.
type Published interface {
	// Files lists its files in the order of the copy.
	Files() ([]string, error)
	// Piece returns the n-th piece of a file, nil behind the last one. It is good until the
	// next call.
	Piece(path string, n int) ([]byte, error)
}

// Carrier is a Snapshot of a set of files that takes from the published copy what it cannot
// read now, piece by piece as it stands there: nothing is dropped because it is out of reach.
type Carrier interface {
	Snapshot
	// Carry gives the copy to take from. It is called at most once, before Next.
	Carry(from Published) error
}

// Event is one native record.
type Event struct {
	Captured value.Captured
	// Raw is the record's own bytes, line end included, good until the next call.
	// The raws of all events, in order, are the session file byte for byte.
	Raw     []byte
	Text    *FileText // set for a piece of a side file, whose content Raw is
	Offset  int64     // of Raw in the file
	Message *Message  // the normalized message this event is, nil for none
	Damage  Damage
}

// FileText names the side file that an event's Raw is a piece of.
type FileText struct {
	Path string // relative to the session's own folder, with slashes
	Mode uint32 // permission bits
}

// Damage says in which way a record's bytes are not one plain JSON line.
type Damage uint8

// Kinds of damage. Only the last two lose a record.
const (
	Sound    Damage = iota
	Glued           // shares its line with another record
	NulFill         // a run of NUL bytes
	Blank           // a line of blanks
	Unparsed        // bytes that are no JSON value
	TornTail        // an unfinished last line that nobody completed
)

// Message is the provider-neutral view of one event.
type Message struct {
	ID        string
	ParentID  string // "" for none
	Role      string // user, assistant, system, tool, unknown
	Kind      string // the provider's own name
	CreatedAt string // as normalized, "" when unknown
	Preview   string // at most 500 UTF-16 units, WTF-8
	RawIndex  int    // index of the native event in the whole session
}

// Position is a place between two events of a session.
type Position struct {
	Offset int64  // bytes of the file before it
	Event  int    // events before it
	Line   int    // lines before it
	State  string // what the driver must remember to go on, opaque to others
}

// Resume is what is known of a session's published copy. With a Stamp it claims that the
// session file only grew: all of the Stamp.Size bytes that were read stand as they were. A
// driver checks the claim before using it, and goes on at At.
type Resume struct {
	Stamp  Stamp
	Prefix uint64 // xxHash64 of those bytes; it notices a change, and proves nothing against ill will
	At     Position
	// Taken is how many bytes of the file are published. An unfinished last line that
	// begins before them is taken as it stands, and any one with TakeAll; a later one may
	// be left to its writer.
	Taken int64
}

// TakeAll as a Resume's Taken leaves no unfinished last line to its writer.
const TakeAll = math.MaxInt64

// Trailer says what a finished snapshot was.
type Trailer struct {
	Summary  Summary
	Complete bool           // the history is safe to take for the whole session
	Revision string         // provider token, "" for none
	Resume   Resume         // of the file as read; At is its end
	Problems []Problem      // damage and other findings, located
	Damaged  map[Damage]int // events by damage
	// Waiting is how many bytes of an unfinished last line were left to their writer. They
	// stand in the file and in no event.
	Waiting int64
}

// Problem is one thing that could not be read, or was left out, and where.
type Problem struct {
	Code    string // stable, for programs: unreadable, changed-while-read, unparsed, …
	Message string // for people; no transcript text
	Session string // native session id, "" when it concerns the source
	Path    string // file or folder, "" for none
	Line    int    // 1-based, 0 for none
	// Place is where in the source something stands that was left out, zero when it is not
	// known: whatever lies there or below was not seen.
	Place Placement
}

// ChangedError reports a session that was rewritten while it was read.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string { return "changed while it was read: " + e.Path }
