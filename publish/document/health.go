package document

import (
	"slices"

	"agentsync/collect/value"
)

// SchemaHealth is the connector's.
const SchemaHealth = "commonfabric.agent-connector.health"

// maxCounts bounds the counts of a health record.
const maxCounts = 32

// Health is how an installation's last pass of a verb ended.
type Health struct {
	OwnerDID     string
	Installation string
	Host         string // "" when the machine has no name
	Verb         string
	Time         string // when it ended
	Exit         int64  // exit code
	Good         string // when one last ended with exit code 0, "" for never
	Counts       map[string]int64
}

// Seal returns the record without its signature.
func (h *Health) Seal(signer string) *Sealed {
	b := value.NewBuilder().Record().Key("schema").String(SchemaHealth).Key("ownerDid").String(h.OwnerDID)
	b.Key("installation").String(h.Installation)
	given(b, "host", h.Host)
	b.Key("verb").String(h.Verb).Key("time").String(h.Time).Key("exit").Int(h.Exit)
	given(b, "good", h.Good)
	b.Key("counts").Record()
	for name, n := range h.Counts {
		b.Key(name).Int(n)
	}
	b.End().Key("signer").String(signer)
	return &Sealed{Schema: SchemaHealth, Signer: signer, Record: b.End().Finish()}
}

// ParseHealth reads a record.
func ParseHealth(s *Sealed) (*Health, error) {
	r := s.reader()
	h := &Health{OwnerDID: r.str("ownerDid"), Installation: r.str("installation"), Verb: r.str("verb"), Time: r.str("time"),
		Exit: r.count("exit"), Counts: map[string]int64{}}
	for field, at := range map[string]*string{"host": &h.Host, "good": &h.Good} {
		if text := r.optional(field); text != nil {
			*at = *text
		}
	}
	counts := r.sub(r.get("counts"))
	names := slices.Collect(func(yield func(string) bool) {
		for name := range counts.v.Members() {
			if !yield(string(name)) {
				return
			}
		}
	})
	if len(names) > maxCounts {
		r.fail("counts", "has more than a record may")
		return nil, r.err
	}
	for _, name := range names {
		h.Counts[name] = counts.count(name)
	}
	r.take(counts.err)
	return h, r.err
}
