package pack_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentsync/hashgraph/digest"
	"agentsync/publish/pack"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// document is one frame and its id, as a test adds it.
type document struct {
	id    string
	frame []byte
	plain int
}

func documents(seed uint64, sizes ...int) []document {
	random := rand.NewChaCha8([32]byte{byte(seed)})
	var all []document
	for i, size := range sizes {
		frame := make([]byte, size)
		_, _ = random.Read(frame) // it never fails
		d := digest.Sum(frame)
		ids := []string{"of:" + d.FID(), d.FID(), d.String(), fmt.Sprintf("table-%d", i)}
		all = append(all, document{ids[i%len(ids)], frame, 3 * size})
	}
	return all
}

func newWriter(t testing.TB, s store.Store) *pack.Writer {
	t.Helper()
	staged, err := s.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pack.NewWriter(staged)
}

func add(t testing.TB, w *pack.Writer, docs []document) []pack.Entry {
	t.Helper()
	var entries []pack.Entry
	for _, d := range docs {
		at, err := w.Add(d.id, d.frame, d.plain)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, pack.Entry{ID: d.id, Located: at})
	}
	return entries
}

func write(t testing.TB, s store.Store, docs []document) (digest.Digest, []pack.Entry) {
	t.Helper()
	w := newWriter(t, s)
	entries := add(t, w, docs)
	size := w.Size()
	name, err := w.Commit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := s.Stat(t.Context(), store.PackName(name)); err != nil || stored != size {
		t.Fatalf("stored %d bytes, %v; the writer announced %d", stored, err, size)
	}
	return name, entries
}

var sizes = []int{1, 100, 4096, 300_000, 7, 262_144, 262_143, 5 << 20, 12, 4<<20 + 3, 1}

func TestPack(t *testing.T) {
	t.Run("the table gives back what was added", func(t *testing.T) {
		s := mem.New()
		docs := documents(1, sizes...)
		name, want := write(t, s, docs)
		got, err := pack.ReadTable(t.Context(), s, name)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("table %v, %v; want %v", got, err, want)
		}
		for i, e := range got {
			frame, err := pack.Read(t.Context(), s, name, e.Located, []byte("> "))
			if err != nil || !bytes.Equal(frame, append([]byte("> "), docs[i].frame...)) {
				t.Fatalf("frame %d: %d bytes, %v", i, len(frame), err)
			}
		}
	})
	t.Run("the name is the digest of table and trailer, which name every frame", func(t *testing.T) {
		s := mem.New()
		name, entries := write(t, s, documents(2, sizes...))
		file := whole(t, s, name)
		last := entries[len(entries)-1]
		if d := digest.Sum(file[last.Offset+last.Length:]); d != name {
			t.Fatalf("the digest of table and trailer is %s, the name %s", d, name)
		}
		for i, e := range entries {
			if digest.Sum(file[e.Offset:][:e.Length]) != e.Sum {
				t.Errorf("frame %d has another digest than its row", i)
			}
		}
	})
	t.Run("equal documents give an equal pack in another store, and another name in the same", func(t *testing.T) {
		s := mem.New()
		first, _ := write(t, s, documents(3, 10, 20))
		second, _ := write(t, s, documents(3, 10, 20))
		elsewhere, _ := write(t, mem.New(), documents(3, 10, 20))
		if first == second || first != elsewhere {
			t.Fatalf("%s, %s, elsewhere %s", first, second, elsewhere)
		}
		for _, name := range []digest.Digest{first, second} {
			if err := pack.Verify(t.Context(), s, name, func(pack.Entry, []byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("a damaged pack of the same name is neither trusted nor in the way", func(t *testing.T) {
		s := mem.New()
		docs := documents(3, 10, 20)
		name, _ := write(t, s, docs)
		file := whole(t, s, name)
		file[3] ^= 1
		plant(t, s, name, file)
		second, _ := write(t, s, docs)
		if second == name {
			t.Fatal("the damaged pack was taken for the one that was written")
		}
		if err := verify(t, s, second); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole(t, s, name), file) {
			t.Fatal("the damaged file was changed")
		}
	})
	t.Run("a pack of nothing is a pack", func(t *testing.T) {
		s := mem.New()
		name, _ := write(t, s, nil)
		if table, err := pack.ReadTable(t.Context(), s, name); err != nil || len(table) != 0 {
			t.Fatalf("%v, %v", table, err)
		}
		if err := pack.Verify(t.Context(), s, name, nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("an absent pack is not found", func(t *testing.T) {
		_, err := pack.ReadTable(t.Context(), mem.New(), digest.Sum(nil))
		verifyErr := pack.Verify(t.Context(), mem.New(), digest.Sum(nil), nil)
		if !errors.Is(err, store.ErrNotFound) || !errors.Is(verifyErr, store.ErrNotFound) {
			t.Fatalf("%v, %v", err, verifyErr)
		}
	})
	t.Run("a short table is one read, a long one two, and no frame is read", func(t *testing.T) {
		s := mem.New()
		for rows, reads := range map[int]int{10: 1, 5000: 2} {
			name, _ := write(t, s, documents(4, slices.Repeat([]int{2}, rows)...))
			s.ResetCalls()
			if table, err := pack.ReadTable(t.Context(), s, name); err != nil || len(table) != rows {
				t.Fatalf("%d rows, %v", len(table), err)
			}
			if n := s.Calls(mem.Get); n != reads {
				t.Errorf("%d rows took %d reads, want %d", rows, n, reads)
			}
		}
	})
}

func TestWriter(t *testing.T) {
	t.Run("refused arguments change nothing", func(t *testing.T) {
		w := newWriter(t, mem.New())
		before := w.Size()
		for _, d := range []document{{"", []byte("x"), 1}, {"a", nil, 0}, {"a", []byte("x"), -1}, {"\xff", []byte("x"), 1}, {strings.Repeat("a", 2000), []byte("x"), 1}} {
			if _, err := w.Add(d.id, d.frame, d.plain); err == nil {
				t.Errorf("id %.10q, %d bytes for %d: accepted", d.id, len(d.frame), d.plain)
			}
		}
		if w.Size() != before || w.Count() != 0 {
			t.Fatalf("size %d, count %d", w.Size(), w.Count())
		}
	})
	t.Run("a failed write loses the pack for good", func(t *testing.T) {
		s := mem.New()
		w := newWriter(t, s)
		s.Inject(mem.Fault{Op: mem.Write, Times: 1, Before: store.ErrFull})
		big := documents(6, 1<<20)[0]
		if _, err := w.Add(big.id, big.frame, 1); !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if _, err := w.Add("next", []byte("x"), 1); !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context(), s); !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if n := s.Calls(mem.Commit); n != 0 {
			t.Fatalf("%d commits of a broken pack", n)
		}
	})
	t.Run("a closed pack takes nothing more", func(t *testing.T) {
		s := mem.New()
		w := newWriter(t, s)
		add(t, w, documents(7, 10))
		if err := errors.Join(w.Discard(), w.Discard()); err != nil {
			t.Fatal(err)
		}
		_, addErr := w.Add("x", []byte("x"), 1)
		_, commitErr := w.Commit(t.Context(), s)
		if addErr == nil || commitErr == nil {
			t.Fatalf("%v, %v", addErr, commitErr)
		}
	})
	t.Run("goroutines may share a writer", func(t *testing.T) {
		s := mem.New()
		w := newWriter(t, s)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for _, d := range documents(uint64(i), 1000, 100_000, 3) {
					if _, err := w.Add(d.id, d.frame, d.plain); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		name, err := w.Commit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		frames := 0
		if err := pack.Verify(t.Context(), s, name, func(e pack.Entry, frame []byte) error {
			frames++
			if d := digest.Sum(frame); !strings.HasPrefix(e.ID, "table-") && !strings.HasSuffix(e.ID, d.FID()) && e.ID != d.String() {
				return fmt.Errorf("%s holds another frame", e.ID)
			}
			return nil
		}); err != nil || frames != 24 {
			t.Fatalf("%d frames, %v", frames, err)
		}
	})
}

func TestVerify(t *testing.T) {
	t.Run("every frame is handed out in order", func(t *testing.T) {
		s := mem.New()
		docs := documents(8, sizes...)
		name, want := write(t, s, docs)
		i := 0
		err := pack.Verify(t.Context(), s, name, func(e pack.Entry, frame []byte) error {
			if e != want[i] || !bytes.Equal(frame, docs[i].frame) {
				t.Fatalf("frame %d is %v with %d bytes", i, e, len(frame))
			}
			i++
			return nil
		})
		if err != nil || i != len(docs) {
			t.Fatalf("%d frames, %v", i, err)
		}
	})
	t.Run("one changed bit anywhere is found", func(t *testing.T) {
		s := mem.New()
		name, _ := write(t, s, documents(9, 10, 1, 30))
		file := whole(t, s, name)
		for bit := range 8 * len(file) {
			spoilt := bytes.Clone(file)
			spoilt[bit/8] ^= 1 << (bit % 8)
			plant(t, s, name, spoilt)
			err := verify(t, s, name)
			wantCorrupt(t, err, name, "")
		}
	})
	t.Run("a pack cut short anywhere is found", func(t *testing.T) {
		s := mem.New()
		name, _ := write(t, s, documents(9, 10, 1, 30))
		file := whole(t, s, name)
		for n := range file {
			plant(t, s, name, file[:n])
			err := verify(t, s, name)
			wantCorrupt(t, err, name, "")
		}
	})
	t.Run("a short read is damage", func(t *testing.T) {
		s := mem.New()
		name, entries := write(t, s, documents(9, 10, 1, 30))
		s.Inject(mem.Fault{Op: mem.Get, Skip: 1, Short: 1})
		wantCorrupt(t, verify(t, s, name), name, "content")
		_, err := pack.Read(t.Context(), s, name, entries[0].Located, nil)
		wantCorrupt(t, err, name, "content")
	})
	t.Run("the reader's own error ends the reading", func(t *testing.T) {
		s := mem.New()
		name, _ := write(t, s, documents(9, 10, 1, 30))
		if err := pack.Verify(t.Context(), s, name, func(pack.Entry, []byte) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal(err)
		}
	})
}

// verify reads a pack through and returns the first damage.
func verify(t testing.TB, s store.Store, name digest.Digest) error {
	t.Helper()
	return pack.Verify(t.Context(), s, name, func(e pack.Entry, frame []byte) error {
		if frame == nil {
			return pack.Damaged(name, e.Located)
		}
		return nil
	})
}

// table builds a pack from rows of any kind.
func table(frames int, count uint64, rows ...[]byte) []byte {
	body := bytes.Join(rows, nil)
	file := append(make([]byte, frames), body...)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(body)))
	file = binary.LittleEndian.AppendUint64(file, count)
	file = binary.LittleEndian.AppendUint64(file, 0)
	return append(file, "asyncpk\x02"...)
}

func row(length, plain uint64, id string) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, length), plain)
	b = append(b, make([]byte, 32)...)
	b = binary.AppendUvarint(append(b, 0), uint64(len(id)))
	return append(b, id...)
}

// named is the name that a file's own trailer gives it, as far as it has one.
func named(file []byte) digest.Digest {
	size := uint64(32)
	if len(file) > 32 {
		size += min(binary.LittleEndian.Uint64(file[len(file)-32:]), uint64(len(file)-32))
	}
	return digest.Sum(file[len(file)-int(min(size, uint64(len(file)))):])
}

func TestReadTableRefuses(t *testing.T) {
	good := row(5, 9, "a")
	version3 := table(5, 1, good)
	version3[len(version3)-1] = 3
	huge := table(5, 1, good)
	binary.LittleEndian.PutUint64(huge[len(huge)-32:], 1<<40)
	tests := []struct {
		name  string
		file  []byte
		field string
	}{
		{"a file shorter than a trailer", []byte("asyncpk\x02"), "size"},
		{"another kind of file", make([]byte, 100), "trailer"},
		{"a newer format version", version3, "trailer"},
		{"a table longer than the file", huge, "table length"},
		{"more rows than the table can hold", table(5, 1<<60, good), "count"},
		{"fewer rows than it counts", table(5, 2, row(5, 9, strings.Repeat("a", 60))), "entry 1 length"},
		{"more rows than it counts", table(10, 1, good, good), "table"},
		{"a frame beyond the table", table(5, 1, row(6, 9, "a")), "entry 0 length"},
		{"frames that leave a gap", table(6, 1, good), "table"},
		{"a second frame beyond the table", table(9, 2, good, good), "entry 1 length"},
		{"a frame of no bytes", table(5, 2, good, row(0, 0, "b")), "entry 1 length"},
		{"an absurd plain length", table(5, 1, row(5, 1<<63, "a")), "entry 0 plain length"},
		{"an empty id", table(5, 1, append(row(5, 9, ""), 0)), "entry 0 id"},
		{"an id that is not UTF-8", table(5, 1, row(5, 9, "\xff")), "entry 0 id"},
		{"an id that is too long", table(5, 1, row(5, 9, strings.Repeat("a", 1025))), "entry 0 id length"},
		{"a digest spelled as text", table(5, 1, row(5, 9, digest.Sum(nil).String())), "entry 0 id"},
		{"an unknown form of id", table(5, 1, slices.Concat([]byte{5, 9}, make([]byte, 32), []byte{7}, make([]byte, 32))), "entry 0 id form"},
		{"a number not in its shortest form", table(5, 1, append([]byte{0x85, 0x00, 9}, make([]byte, 40)...)), "entry 0 length"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mem.New()
			name := named(test.file)
			plant(t, s, name, test.file)
			_, err := pack.ReadTable(t.Context(), s, name)
			wantCorrupt(t, err, name, test.field)
		})
	}
}

func FuzzReadTable(f *testing.F) {
	s := mem.New()
	name, _ := write(f, s, documents(10, 3, 4, 5, 6))
	file, err := s.Get(f.Context(), store.PackName(name), 0, -1, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(table(5, 1, row(5, 9, "a")))
	f.Add(table(0, 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		s := mem.New()
		name := named(file)
		plant(t, s, name, file)
		entries, err := pack.ReadTable(t.Context(), s, name)
		if err != nil {
			var corrupt *pack.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("not a *CorruptError: %v", err)
			}
			return
		}
		// What is accepted with its frames is exactly what a writer gives.
		w := newWriter(t, mem.New())
		var end int64
		for _, e := range entries {
			if e.Offset != end || e.Length <= 0 {
				t.Fatalf("frame %+v after %d", e, end)
			}
			end += e.Length
			if _, err := w.Add(e.ID, file[e.Offset:end], int(e.Plain)); err != nil {
				t.Fatal(err)
			}
		}
		sound := verify(t, s, name) == nil
		variant := binary.LittleEndian.Uint64(file[len(file)-16:])
		again, err := w.Commit(t.Context(), mem.New())
		if err != nil || sound && variant == 0 && again != name {
			t.Fatalf("written again it is %s, %v", again, err)
		}
	})
}

func TestAFrameIsReadOnlyAsTheNameVouchesForIt(t *testing.T) {
	s := mem.New()
	name, entries := write(t, s, documents(12, 10, 1, 30))
	file := whole(t, s, name)
	end := entries[2].Offset + entries[2].Length
	for at := range file {
		var tables pack.Tables
		spoilt := bytes.Clone(file)
		spoilt[at] ^= 0x10
		plant(t, s, name, spoilt)
		for _, e := range entries {
			own := e.Offset <= int64(at) && int64(at) < e.Offset+e.Length || int64(at) >= end
			found, err := tables.Find(t.Context(), s, name, e.Offset, e.Length)
			if err == nil {
				_, err = pack.Read(t.Context(), s, name, found, nil)
			}
			if !own && err != nil {
				t.Fatalf("byte %d is no part of the frame at %d: %v", at, e.Offset, err)
			}
			if own {
				wantCorrupt(t, err, name, "")
			}
		}
	}
}

func TestTables(t *testing.T) {
	s := mem.New()
	name, entries := write(t, s, documents(13, slices.Repeat([]int{2}, 3000)...))
	var tables pack.Tables
	t.Run("many readers read a table once", func(t *testing.T) {
		s.ResetCalls()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for _, e := range entries[i:] {
					if got, err := tables.Find(t.Context(), s, name, e.Offset, e.Length); err != nil || got != e.Located {
						t.Errorf("%+v, %v; want %+v", got, err, e.Located)
						return
					}
				}
			})
		}
		all.Wait()
		if n := s.Calls(mem.Get); n > 2 {
			t.Errorf("%d reads", n)
		}
	})
	t.Run("a link to no frame is damage", func(t *testing.T) {
		e := entries[7]
		for _, at := range [][2]int64{{e.Offset + 1, e.Length}, {e.Offset, e.Length + 1}, {-1, 2}, {1 << 40, 2}} {
			_, err := tables.Find(t.Context(), s, name, at[0], at[1])
			wantCorrupt(t, err, name, "link")
		}
	})
	t.Run("many tables do not stay all in memory, and are read again", func(t *testing.T) {
		var few pack.Tables
		frames := slices.Repeat([]document{{"a", []byte("xy"), 3}}, 100_000)
		var names []digest.Digest
		for i := range 7 {
			name, _ := write(t, s, frames[i:])
			names = append(names, name)
		}
		for range 2 {
			s.ResetCalls()
			for _, name := range names {
				if _, err := few.Find(t.Context(), s, name, 2*90_000, 2); err != nil {
					t.Fatal(err)
				}
			}
			if n := s.Calls(mem.Get); n < 2*2 {
				t.Errorf("%d reads for %d tables of %d rows", n, len(names), len(frames))
			}
		}
	})
	t.Run("what could not be read is read again", func(t *testing.T) {
		var fresh pack.Tables
		s.Inject(mem.Fault{Op: mem.Get, Times: 1, Before: store.ErrReadOnly})
		if _, err := fresh.Find(t.Context(), s, name, 0, 2); !errors.Is(err, store.ErrReadOnly) {
			t.Fatal(err)
		}
		if _, err := fresh.Find(t.Context(), s, name, 0, 2); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	docs := documents(11, slices.Repeat([]int{90_000}, 64)...)
	s := mem.New()
	for b.Loop() {
		b.SetBytes(64 * 90_000)
		b.ReportAllocs()
		w := pack.NewWriter(discardStaged{})
		add(b, w, docs)
		if _, err := w.Commit(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}

// discardStaged swallows content, so that a benchmark measures the writer alone.
type discardStaged struct{ store.Staged }

func (discardStaged) Write(p []byte) (int, error) { return len(p), nil }

func (discardStaged) Commit(context.Context, string) error { return nil }

func whole(t testing.TB, s store.Store, name digest.Digest) []byte {
	t.Helper()
	file, err := s.Get(t.Context(), store.PackName(name), 0, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// plant puts bytes in the place of a pack, whatever their digest.
func plant(t testing.TB, s store.Store, name digest.Digest, file []byte) {
	t.Helper()
	if err := s.Hint(t.Context(), store.PackName(name), file); err != nil {
		t.Fatal(err)
	}
}

func wantCorrupt(t testing.TB, err error, name digest.Digest, field string) {
	t.Helper()
	var corrupt *pack.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Pack != name || field != "" && corrupt.Field != field {
		t.Fatalf("%v; want a *CorruptError of %q in %s", err, field, name)
	}
}
