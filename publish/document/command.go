package document

import (
	"slices"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/ledger"
)

// Schemas of what remote commands leave in a store. The first two are the connector's.
const (
	SchemaCommand     = "commonfabric.agent-connector.command"
	SchemaReceiptList = "commonfabric.agent-connector.command-receipts"

	SchemaProducer = "agentsync.command-producer"
	SchemaClaim    = "agentsync.command-claim"
	SchemaOutcome  = "agentsync.command-outcome"
)

// SealCommand returns a command as its queue holds it, the signer beside the command's
// own fields and the signature still missing.
func SealCommand(c ledger.Command, signer string) *Sealed {
	b := value.NewBuilder().Record()
	copyFields(b, c.Value())
	b.Key("signer").String(signer)
	return &Sealed{Schema: SchemaCommand, Signer: signer, Record: b.End().Finish()}
}

// Producer binds a queue to the one key whose commands it takes.
type Producer struct {
	OwnerDID string
	Name     string // canonical source id
	DID      string
	Time     string
	Rights   Rights
}

// Rights are what a producer may ask for. What is not named is not allowed.
type Rights struct {
	Sources  []string // canonical ids
	Commands []string // types
	Folders  []string // absolute, below which a start may stand on the machine that runs it
}

// Equal compares two rights, whose lists are sorted.
func (r Rights) Equal(o Rights) bool {
	return slices.Equal(r.Sources, o.Sources) && slices.Equal(r.Commands, o.Commands) && slices.Equal(r.Folders, o.Folders)
}

// Seal returns the binding without its signature.
func (p *Producer) Seal(signer string) *Sealed {
	b := value.NewBuilder().Record().Key("schema").String(SchemaProducer).Key("ownerDid").String(p.OwnerDID)
	b.Key("producer").String(p.Name).Key("did").String(p.DID).Key("time").String(p.Time).Key("signer").String(signer)
	texts(b, "sources", p.Rights.Sources)
	texts(b, "commands", p.Rights.Commands)
	texts(b, "folders", p.Rights.Folders)
	return &Sealed{Schema: SchemaProducer, Signer: signer, Record: b.End().Finish()}
}

// ParseProducer reads a binding.
func ParseProducer(s *Sealed) (*Producer, error) {
	r := s.reader()
	p := &Producer{OwnerDID: r.str("ownerDid"), Name: r.str("producer"), DID: r.str("did"), Time: r.str("time"),
		Rights: Rights{Sources: r.texts("sources"), Commands: r.texts("commands"), Folders: r.texts("folders")}}
	if name, err := collect.SourceID(p.Name); r.err == nil && (err != nil || name != p.Name) {
		r.fail("producer", "is not in its canonical form")
	}
	return p, r.err
}

func texts(b *value.Builder, field string, all []string) {
	b.Key(field).Array()
	for _, one := range all {
		b.String(one)
	}
	b.End()
}

// texts reads a list of texts; one that is not there is empty.
func (r *reader) texts(field string) (all []string) {
	if _, there := r.v.Get(field); !there {
		return nil
	}
	for _, v := range r.list(field) {
		if v.Kind() != value.String {
			r.fail(field, "holds what is no text")
		}
		all = append(all, v.Str())
	}
	return all
}

// Claim says which installation may run a command.
type Claim struct {
	Installation string
	Nonce        string // random, tells one's own put from another's
	Receipt      ledger.Receipt
}

// Seal returns the claim without its signature.
func (c *Claim) Seal(signer string) *Sealed {
	b := value.NewBuilder().Record().Key("schema").String(SchemaClaim).Key("installation").String(c.Installation)
	b.Key("nonce").String(c.Nonce).Key("receipt").Value(c.Receipt.Value()).Key("signer").String(signer)
	return &Sealed{Schema: SchemaClaim, Signer: signer, Record: b.End().Finish()}
}

// ParseClaim reads a claim, whose receipt is in flight.
func ParseClaim(s *Sealed) (*Claim, error) {
	r := s.reader()
	c := &Claim{Installation: r.str("installation"), Nonce: r.str("nonce"), Receipt: r.receipt()}
	if r.err == nil && c.Receipt.Status != ledger.InFlight {
		r.fail("receipt", "is not in flight")
	}
	return c, r.err
}

// Outcome is what became of a command, the n-th that was said of it.
type Outcome struct {
	Number       int64
	Installation string // that says so
	Receipt      ledger.Receipt
}

// Seal returns the outcome without its signature.
func (o *Outcome) Seal(signer string) *Sealed {
	b := value.NewBuilder().Record().Key("schema").String(SchemaOutcome).Key("number").Int(o.Number)
	b.Key("installation").String(o.Installation).Key("receipt").Value(o.Receipt.Value()).Key("signer").String(signer)
	return &Sealed{Schema: SchemaOutcome, Signer: signer, Record: b.End().Finish()}
}

// ParseOutcome reads an outcome, whose receipt is terminal.
func ParseOutcome(s *Sealed) (*Outcome, error) {
	r := s.reader()
	o := &Outcome{Number: r.count("number"), Installation: r.str("installation"), Receipt: r.receipt()}
	if r.err == nil && !o.Receipt.Status.Terminal() {
		r.fail("receipt", "is not terminal")
	}
	return o, r.err
}

func (r *reader) receipt() ledger.Receipt {
	receipt, err := ledger.ParseReceipt(r.get("receipt"))
	if err != nil {
		r.fail("receipt", err.Error())
	}
	return receipt
}
