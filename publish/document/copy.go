package document

import (
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Copy is an earlier state of a session that holds records which a later one lacks. Its
// documents are those that were published then.
type Copy struct {
	N            int    // counted from 1, never used again while a higher one is there
	Why          string // shortened or diverged
	At           string // when it was replaced
	ManifestHash digest.Digest
	ContentHash  digest.Digest
	Size         int64
	Events       int
	Messages     int
	Damaged      int
	Table        Table // empty when TableAt is set
	TableAt      Link
}

// CopyOf makes a kept copy of what a row says.
func CopyOf(row *Row, why, at string) Copy {
	n := 1
	for i := range row.Copies {
		n = max(n, row.Copies[i].N+1)
	}
	return Copy{N: n, Why: why, At: at, ManifestHash: row.ManifestHash, ContentHash: row.ContentHash, Size: row.Size,
		Events: row.Events, Messages: row.Messages, Damaged: row.Damaged, Table: row.Table, TableAt: row.TableAt}
}

// Of is the row of a kept copy, as if its session were still what it was.
func (c *Copy) Of(row *Row) *Row {
	was := row.Known()
	was.Copies, was.CopyN = nil, c.N
	was.ManifestHash, was.ContentHash, was.Size, was.Events = c.ManifestHash, c.ContentHash, c.Size, c.Events
	was.Messages, was.Damaged, was.Table, was.TableAt = c.Messages, c.Damaged, c.Table, c.TableAt
	return &was
}

// States are the row itself and those of its kept copies.
func (row *Row) States() []*Row {
	out := []*Row{row}
	for i := range row.Copies {
		out = append(out, row.Copies[i].Of(row))
	}
	return out
}

func (row *Row) buildCopies(b *value.Builder, p *placer) {
	if len(row.Copies) == 0 {
		return
	}
	b.Key("copies").Array()
	for i := range row.Copies {
		c := &row.Copies[i]
		b.Record().Key("n").Int(int64(c.N)).Key("why").String(c.Why).Key("at").String(c.At)
		b.Key("manifestHash").String(c.ManifestHash.String()).Key("contentHash").String(c.ContentHash.String())
		b.Key("size").Int(c.Size).Key("events").Int(int64(c.Events)).Key("messages").Int(int64(c.Messages))
		b.Key("damaged").Int(int64(c.Damaged))
		if c.TableAt.IsZero() {
			c.Table.build(b.Key("table"), p)
		} else {
			p.add(b.Key("tableAt"), c.TableAt)
		}
		b.End()
	}
	b.End()
}

func (r *reader) copies(f *finder) []Copy {
	if _, ok := r.v.Get("copies"); !ok {
		return nil
	}
	var out []Copy
	for _, v := range r.list("copies") {
		sub := r.sub(v)
		c := Copy{N: int(sub.count("n")), Why: sub.str("why"), At: sub.str("at"), ManifestHash: sub.digest("manifestHash"),
			ContentHash: sub.digest("contentHash"), Size: sub.count("size"), Events: int(sub.count("events")),
			Messages: int(sub.count("messages")), Damaged: int(sub.count("damaged"))}
		if at, ok := v.Get("tableAt"); ok {
			c.TableAt = f.read(sub, "tableAt", at)
		} else {
			c.Table = sub.sub(sub.get("table")).table(sub, f)
		}
		if r.err == nil {
			r.err = sub.err
		}
		out = append(out, c)
	}
	return out
}
