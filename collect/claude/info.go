package claude

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"agentsync/collect/lines"
)

// Info is a session as the client's own listing reports it (spec, agents 3.2), in the
// client's naming and order.
type Info struct {
	SessionID    string  `json:"sessionId"`
	Summary      string  `json:"summary"`
	LastModified int64   `json:"lastModified"` // milliseconds since 1970 UTC
	FileSize     int64   `json:"fileSize"`     // bytes
	CustomTitle  *string `json:"customTitle,omitempty"`
	FirstPrompt  *string `json:"firstPrompt,omitempty"`
	GitBranch    *string `json:"gitBranch,omitempty"`
	Cwd          *string `json:"cwd,omitempty"`
	Tag          *string `json:"tag,omitempty"`
	CreatedAt    *int64  `json:"createdAt,omitempty"`
	Archived     *bool   `json:"archived,omitempty"`
}

// info returns what the client reports, and whether it reports the session at all.
func (f fields) info(id string) (Info, bool) {
	if f.summary == nil || f.sidechain || f.size == 0 {
		return Info{}, false
	}
	return Info{
		SessionID: id, Summary: *f.summary, LastModified: f.lastModified, FileSize: f.size,
		CustomTitle: f.customTitle, FirstPrompt: f.firstPrompt, GitBranch: f.gitBranch, Cwd: f.cwd,
		Tag: f.tag, CreatedAt: f.createdAt, Archived: f.archived,
	}, true
}

// gather reads a transcript's two ends, up to size bytes of it, and its sidecars.
func gather(r *lines.Reader, size int64, folder string) (evidence, error) {
	e := evidence{size: r.Stamp().Size, modTime: r.Stamp().ModTime}
	var err error
	if e.head, err = readText(r, 0, min(size, windowSize)); err != nil {
		return e, err
	}
	e.tail = e.head
	if size > windowSize {
		if e.tail, err = readText(r, size-windowSize, windowSize); err != nil {
			return e, err
		}
	}
	if folder == "" {
		return e, nil
	}
	if e.title, err = readSmall(filepath.Join(folder, titleName)); err != nil {
		return e, err
	}
	e.archived, err = readSmall(filepath.Join(folder, archivedName))
	return e, err
}

// windowBuffers are those that the ends of transcripts are read into.
var windowBuffers = sync.Pool{New: func() any { return new([windowSize]byte) }}

// readText reads at most a window of a transcript, as text.
func readText(r io.ReaderAt, offset, size int64) (string, error) {
	window := windowBuffers.Get().(*[windowSize]byte)
	defer windowBuffers.Put(window)
	n, err := r.ReadAt(window[:size], offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return decodeUTF8(window[:n]), err
}

// maxSmallFile bounds the side files that a summary is read from, in bytes.
const maxSmallFile = 64 << 10

// readSmall reads a side file; nil when it is absent, no regular file, or too large.
func readSmall(path string) ([]byte, error) {
	r, err := lines.Open(path, lines.Options{})
	if _, odd := errors.AsType[*lines.NotRegularError](err); odd || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Stamp().Size > maxSmallFile {
		return nil, nil
	}
	p, err := io.ReadAll(io.NewSectionReader(r, 0, r.Stamp().Size))
	return bytes.TrimPrefix(p, []byte("\xEF\xBB\xBF")), err
}
