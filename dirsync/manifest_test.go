package dirsync

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"agentsync/hashgraph/digest"
)

func hello(path string, executable bool) Node {
	return Node{Path: path, Entry: Entry{Kind: File, Digest: digest.Sum([]byte("hello\n")), Size: 6, Executable: executable}}
}

func TestManifestsHaveTheBytesOfTheSpec(t *testing.T) {
	for _, row := range []struct {
		name  string
		nodes []Node
		want  string // cells spec 9.3
	}{
		{"none", nil, "a469965a571e5e11927cc021ad0f8435f750f09e661da2cff723c5a1ee6f3be3"},
		{"a directory", []Node{{Path: "\u7b14\u8bb0", Entry: Entry{Kind: Directory}}},
			"bcde98ea39bcb117e99d3c3a6765acb047081a2fb72ab4c117cbcbc824de8c49"},
		{"a directory and two files", []Node{hello("a/run", true), {Path: "a", Entry: Entry{Kind: Directory}}, hello("a-b", false)},
			"b17740d379028451f67af133d04792650bbf092b6e227e79fd1ae809086098f0"},
		{"marks that some encoders escape", []Node{hello("x<&>\u2028y\u00e9", false)},
			"4be3a9778d5a32ae86918b62b5ccff33261d9c30eff98231ad436a8e5660ca38"},
		{"control characters", []Node{hello("t\tq\"b\bf\f\x1f\x7f", false)},
			"f3c3cdc7be37004b93ffb6b675eb2769b3f7fe9ff58a7348b3e5001ef15a03c8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := EncodeManifest(NewTree(row.nodes))
			if got := digest.Sum(text).Hex(); got != row.want {
				t.Errorf("digest %s of %s", got, text)
			}
			again, err := ParseManifest(text)
			if err != nil || !bytes.Equal(EncodeManifest(again), text) {
				t.Errorf("read back: %v", err)
			}
		})
	}
}

func TestAManifestThatIsNotCanonicalIsRefused(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	one := func(path string) string {
		return `{"executable":false,"hash":"` + hash + `","kind":"file","path":"` + path + `","size":"6"}`
	}
	dir := func(path string) string { return `{"kind":"directory","path":"` + path + `"}` }
	for name, entries := range map[string]string{
		"out of order":        one("b") + "," + one("a"),
		"twice":               one("a") + "," + one("a"),
		"no parent":           one("a/b"),
		"below a file":        one("a") + "," + one("a/b"),
		"parent segment":      one("..") + "",
		"empty segment":       dir("a") + "," + one("a//b"),
		"backslash":           one(`a\\b`),
		"needless escape":     one(`\u0061`),
		"upper-case hash":     strings.Replace(one("a"), "abab", "ABab", 1),
		"number for a size":   strings.Replace(one("a"), `"6"`, `6`, 1),
		"leading zero":        strings.Replace(one("a"), `"6"`, `"06"`, 1),
		"two sizes of a hash": one("a") + "," + strings.Replace(one("b"), `"6"`, `"7"`, 1),
		"a space":             dir("a") + " ",
		"parent in between":   dir("a") + "," + dir("a/..") + "," + one("a/../b"),
		"from the root":       one("/etc/passwd"),
		"a NUL":               one(`a\u0000`),
		"not composed":        one("e\u0301"),
		"too long":            one(strings.Repeat("a", MaxPath+1)),
		"below a link":        `{"kind":"link","path":"a","target":"/etc"},` + one("a/b"),
		"size below zero":     strings.Replace(one("a"), `"6"`, `"-6"`, 1),
		"size beyond 64 bits": strings.Replace(one("a"), `"6"`, `"9223372036854775808"`, 1),
		"sizes beyond 64 bits in all": strings.Replace(one("a"), `"6"`, `"9223372036854775807"`, 1) + "," +
			strings.Replace(strings.Replace(one("b"), `"6"`, `"9223372036854775807"`, 1), "abab", "cdcd", 1),
		"too many":          manyDirectories(MaxEntries + 1),
		"keys out of order": `{"path":"a","kind":"directory"}`,
		"trailing comma":    dir("a") + ",",
	} {
		if tree, err := ParseManifest([]byte(manifestStart + entries + manifestEnd)); err == nil {
			t.Errorf("%s: accepted as %v", name, tree)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "cut off": manifestStart + dir("a"), "other version": manifestStart + `],"format":"fs-agent.files","version":2}`,
		"more behind": manifestStart + manifestEnd + "\n",
	} {
		if _, err := ParseManifest([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func manyDirectories(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"kind":"directory","path":"%09d"}`, i)
	}
	return b.String()
}

func FuzzParseManifest(f *testing.F) {
	f.Add(EncodeManifest(NewTree([]Node{hello("a/run", true), {Path: "a", Entry: Entry{Kind: Directory}}, hello("a-b", false)})))
	f.Add(EncodeManifest(NewTree([]Node{{Path: "l", Entry: Entry{Kind: Link, Target: "x/\u2028"}}})))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := ParseManifest(text)
		if err != nil {
			return
		}
		again, err := ParseManifest(EncodeManifest(tree))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(tree) {
			t.Errorf("%q: %v, %v", text, again, err)
		}
	})
}

func BenchmarkManifest(b *testing.B) {
	var nodes []Node
	for i := range 20_000 {
		if i%20 == 0 {
			nodes = append(nodes, Node{Path: fmt.Sprintf("d%05d", i/20), Entry: Entry{Kind: Directory}})
		}
		nodes = append(nodes, Node{Path: fmt.Sprintf("d%05d/f%05d", i/20, i), Entry: file(fmt.Sprint(i))})
	}
	text := EncodeManifest(NewTree(nodes))
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseManifest(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		tree := NewTree(nodes)
		for b.Loop() {
			EncodeManifest(tree)
		}
	})
}
