package codex

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentsync/collect"
)

const (
	rolloutPrefix = "rollout-"
	rolloutSuffix = ".jsonl"
)

// catalog is one complete look at the source.
type catalog struct {
	files    []file // newest name first
	byID     map[string]int
	names    []names // by home
	problems []collect.Problem
	notes    []collect.Problem
	absent   bool
}

// newCatalog gives every file its native id. A rollout has the UUID that ends its name, and
// one that goes on with a thread in a file of its own, rollout-TIME-THREAD_SEGMENT.jsonl,
// has THREAD/SEGMENT;
// where several files have the same one, the newest by name has the bare id and the
// others have id@path, but for those that were published: each keeps its id. Every other
// file has its path below the home for an id.
func newCatalog(homes []home, seen found, titles []names, published collect.Ids) *catalog {
	c := &catalog{names: titles, problems: seen.problems, notes: seen.notes, absent: seen.absent == len(homes)}
	c.files = distinct(homes, seen.files, c)
	c.byID = make(map[string]int, len(c.files))
	for i := range c.files {
		f := &c.files[i]
		thread, _, isRollout := threadID(f.rel)
		if id := published.Of(homes[f.home].placement(), f.rel); isRollout && id != "" {
			if of, _ := ThreadOf(id); of == thread {
				if _, taken := c.byID[id]; !taken {
					f.id, c.byID[id] = id, i
				}
			}
		}
	}
	obscured := collect.Obscured(seen.problems, seen.notes)
	for i := range c.files {
		f := &c.files[i]
		if f.id != "" {
			f.stamp.Side = c.side(*f)
			continue
		}
		place := placeOf(homes[f.home], f.rel)
		bare, segment, isRollout := threadID(f.rel)
		if segment != "" {
			bare += "/" + segment
		}
		if id, err := collect.SessionID(bare); !isRollout || err != nil || id != bare {
			bare = place
		}
		f.id = bare
		// While something could not be listed, the file that has the id may be there.
		if _, taken := c.byID[f.id]; taken || obscured && published.Given(bare) {
			f.id = bare + "@" + strings.TrimSuffix(place, rolloutSuffix)
		}
		for n := 2; ; n++ { // two odd names can still be spelled alike
			if _, taken := c.byID[f.id]; !taken {
				break
			}
			f.id = fmt.Sprintf("%s@%s@%d", bare, place, n)
		}
		c.byID[f.id] = i
		f.stamp.Side = c.side(*f)
	}
	c.linkSegments()
	return c
}

// linkSegments puts what goes on with a thread below the thread's own file or, where that
// is not there, below the oldest of them.
func (c *catalog) linkSegments() {
	oldest := map[string]string{}
	for _, f := range c.files { // newest first
		if thread, segment, ok := threadID(f.rel); ok && segment != "" {
			oldest[thread] = f.id
		}
	}
	for i := range c.files {
		f := &c.files[i]
		thread, segment, ok := threadID(f.rel)
		if !ok || segment == "" {
			continue
		}
		if _, there := c.byID[thread]; there {
			f.parent = thread
		} else if first := oldest[thread]; first != f.id {
			f.parent = first
		}
	}
}

// distinct orders the files, newest name first, and leaves out a compressed copy whose
// plain one is there, and a file that was seen in both folders while it was moved.
func distinct(homes []home, files []file, c *catalog) []file {
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(-cmp.Compare(path.Base(a.rel), path.Base(b.rel)), cmp.Compare(a.home, b.home),
			compareBool(a.archived, b.archived), cmp.Compare(a.rel, b.rel), compareBool(a.zstd, b.zstd))
	})
	kept := files[:0]
	for _, f := range files {
		if len(kept) > 0 {
			before := kept[len(kept)-1]
			if before.home == f.home && before.rel == f.rel {
				if f.zstd != before.zstd {
					c.notes = append(c.notes, collect.Problem{Code: codeShadowed, Path: f.path(homes),
						Message: "left out: its uncompressed copy is read"})
				}
				continue
			}
			if path.Base(before.rel) == path.Base(f.rel) && before.stamp == f.stamp && f.stamp.Inode != 0 {
				kept[len(kept)-1] = f // archived since it was listed
				continue
			}
		}
		kept = append(kept, f)
	}
	return kept
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// threadID is the UUID of the thread in a rollout's name, and the segment of the thread
// that the file is, "" for its beginning.
func threadID(rel string) (thread, segment string, ok bool) {
	stem, isLines := strings.CutSuffix(path.Base(rel), rolloutSuffix)
	if !isLines || !strings.HasPrefix(stem, rolloutPrefix) {
		return "", "", false
	}
	stem, segment, several := strings.Cut(stem, "_")
	if len(stem) < uuidSize+1 || several && segment == "" {
		return "", "", false
	}
	thread = stem[len(stem)-uuidSize:]
	return thread, segment, isUUID(thread) && stem[len(stem)-uuidSize-1] == '-'
}

// ThreadOf is the thread that a session's file is a part of, by its native id.
func ThreadOf(nativeSessionID string) (thread string, ok bool) {
	thread, _, _ = strings.Cut(nativeSessionID, "@")
	thread, _, _ = strings.Cut(thread, "/")
	return thread, isUUID(thread)
}

// placeOf names a file by its path, in a way that any session id may be spelled.
func placeOf(h home, rel string) string {
	if h.name != "" {
		rel = h.name + "/" + rel
	}
	if id, err := collect.SessionID(rel); err == nil && id == rel {
		return rel
	}
	var b strings.Builder
	for i := 0; i < len(rel); {
		r, size := utf8.DecodeRuneInString(rel[i:])
		edge := i == 0 || i+size == len(rel)
		if r == utf8.RuneError && size == 1 || r == '%' || unicode.IsControl(r) || edge && (unicode.IsSpace(r) || r == 0xFEFF) {
			for _, c := range []byte(rel[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(rel[i : i+size])
		}
		i += size
	}
	return b.String()
}

// find returns the file of a native id.
func (c *catalog) find(id string) (file, bool) {
	i, ok := c.byID[id]
	if !ok {
		return file{}, false
	}
	return c.files[i], true
}

// title is the name that a person gave a file's thread, "" for none.
func (c *catalog) title(f file) string {
	if id, _, ok := threadID(f.rel); ok {
		return c.names[f.home][id]
	}
	return ""
}

// side stands for what a summary has from outside of the file itself: its thread's name
// and whether it lies in the archive. It is the same on every machine.
func (c *catalog) side(f file) uint64 {
	h := fnv.New64a()
	h.Write([]byte(c.title(f)))
	if f.archived {
		h.Write([]byte{0, 1})
	} else {
		h.Write([]byte{0, 0})
	}
	return h.Sum64()
}
