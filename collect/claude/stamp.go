package claude

import (
	"encoding/binary"
	"hash/fnv"
	"sort"

	"agentsync/collect"
)

// digestOf stands for one side file's state: another size, time or file is another digest.
func digestOf(e entry) uint64 { return mix(0, e.name, e) }

// mix folds a file's name and state into a digest. It is FNV-1a.
func mix(digest uint64, path string, e entry) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, n := range []uint64{digest, uint64(e.stamp.Size), uint64(e.stamp.ModTime), uint64(e.stamp.ChangeTime), uint64(len(path))} {
		binary.LittleEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
	h.Write([]byte(path))
	return h.Sum64()
}

// sideStamp stamps a set of side files as one session, in the order they are added.
type sideStamp struct {
	files   int
	size    int64
	newest  int64
	digests uint64
}

func (s *sideStamp) add(path string, e entry) {
	if s.files == 0 || e.stamp.ModTime > s.newest {
		s.newest = e.stamp.ModTime
	}
	s.files++
	s.size += e.stamp.Size
	s.digests = mix(s.digests, path, e)
}

func (s *sideStamp) stamp() collect.Stamp {
	return collect.Stamp{Size: s.size, ModTime: s.newest, Side: s.digests}
}

// sidecars are the side files that a session's own summary is read from, by name.
var sidecars = []string{archivedName, titleName}

const (
	archivedName = "archived.json"
	titleName    = "custom-title.json"
)

// sidecarDigest stands for the state of a session's sidecars, 0 when there are none.
func sidecarDigest(siblings []entry) uint64 {
	digest := uint64(0)
	for _, name := range sidecars {
		if e, ok := find(siblings, name); ok && e.isRegular() {
			digest = mix(digest, name, e)
		}
	}
	return digest
}

// stampSidecars completes the stamp of the family's transcript, among mains by name.
func stampSidecars(mains []found, family string, siblings []entry) {
	name := family + ".jsonl"
	i := sort.Search(len(mains), func(i int) bool { return mains[i].path >= name })
	if i < len(mains) && mains[i].path == name {
		mains[i].stamp.Side = sidecarDigest(siblings)
	}
}
