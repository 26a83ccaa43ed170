package document

import "agentsync/collect/value"

// RowContext is what a row of the session index schema says besides what a Row holds.
type RowContext struct {
	OwnerDID     string
	Capabilities []string // of the row's source
	Recent       []value.Value
	Manifest     func(*value.Builder) // lays the link to the session's manifest
}

// Logical lays the row as the session index schema has it: what a Row leaves out since it
// stands once for many rows or follows from something else is there.
func (row *Row) Logical(b *value.Builder, c RowContext) {
	b.Record().Key("ownerDid").String(c.OwnerDID).Key("key").String(row.Key).Key("sourceId").String(row.SourceID)
	b.Key("driver").String(row.Driver).Key("nativeSessionId").String(row.NativeSessionID)
	nullable(b, "title", row.Title)
	nullable(b, "cwd", row.Cwd)
	row.Git.build(b)
	nullable(b, "createdAt", row.CreatedAt)
	nullable(b, "updatedAt", row.UpdatedAt)
	nullableFlag(b, "archived", row.Archived)
	nullableFlag(b, "active", row.Active)
	given(b, "startedAs", row.StartedAs)
	b.Key("capabilities").Array()
	for _, one := range c.Capabilities {
		b.String(one)
	}
	b.End().Key("recentMessages").Array()
	for _, one := range c.Recent {
		b.Value(one)
	}
	b.End()
	c.Manifest(b.Key("manifest"))
	b.Key("manifestVersioned").Bool(true).Key("manifestHash").String(row.ManifestHash.String())
	b.Key("contentHash").String(row.ContentHash.String()).Key("syncStatus").String(row.Status)
	if row.DeletedAt != nil {
		b.Key("deletedAt").String(*row.DeletedAt)
	}
	b.End()
}

// Lists is the record of the root's own lists, its sources and its checkouts.
func (root *Root) Lists() value.Value {
	b := value.NewBuilder().Record().Key("sources").Array()
	for i := range root.Sources {
		root.Sources[i].build(b)
	}
	b.End().Key("checkouts").Array()
	for i := range root.Checkouts {
		root.Checkouts[i].build(b)
	}
	return b.End().End().Finish()
}
