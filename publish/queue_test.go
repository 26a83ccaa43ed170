package publish

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

func TestACommandIsSentOnce(t *testing.T) {
	d := newDesk(t)
	c := command(d.one, "a/b")
	c.Payload = value.NewBuilder().Record().Key("text").String("say").Key("big").Integer(value.BigInt, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}).
		Key("none").Undefined().Key("/slash").Number(0).End().Finish()
	d.send("", d.owner, c)
	d.send("", d.owner, c)
	q, err := d.reader.Queued(t.Context(), nil)
	if err != nil || len(q.Commands) != 1 || len(q.Refused) != 0 {
		t.Fatalf("%+v, %v", q, err)
	}
	got := q.Commands[0]
	if got.Name != "queues/@owner/a%2Fb.json" || got.Producer != "" {
		t.Errorf("%q of %q", got.Name, got.Producer)
	}
	if !bytes.Equal(value.AppendText(nil, got.Command.Value()), value.AppendText(nil, c.Value())) {
		t.Error("the command came back as another one")
	}
	t.Run("in another spelling it is the same command", func(t *testing.T) {
		text := d.text(got.Name)
		d.replace(got.Name, bytes.ReplaceAll(bytes.TrimSpace(text), []byte(`,"`), []byte(` , "`)))
		if _, err := d.reader.Send(t.Context(), "", d.owner, c); err != nil {
			t.Error(err)
		}
		if ids, refused := d.queued(nil); len(ids) != 1 || len(refused) != 0 {
			t.Errorf("%v, %v", ids, refused)
		}
	})
	t.Run("sent again later it is the same command, and the first one stays", func(t *testing.T) {
		later := c
		later.CreatedAt = stamp(noon.Add(time.Hour))
		before := d.text(got.Name)
		stays, err := d.reader.Send(t.Context(), "", d.owner, later)
		if err != nil || stays.CreatedAt != c.CreatedAt || !bytes.Equal(d.text(got.Name), before) {
			t.Errorf("%q, %v", stays.CreatedAt, err)
		}
	})
	t.Run("another command under its id is refused", func(t *testing.T) {
		for name, change := range map[string]func(*ledger.Command){
			"session": func(c *ledger.Command) { c.NativeSessionID = "s-2" },
			"payload": func(c *ledger.Command) { c.Payload = textPayload("sing") },
			"type":    func(c *ledger.Command) { c.Type = ledger.Cancel },
			"force":   func(c *ledger.Command) { c.Force = !c.Force },
			"who":     func(c *ledger.Command) { c.RequestedBy = "somebody else" },
		} {
			other := c
			change(&other)
			if _, err := d.reader.Send(t.Context(), "", d.owner, other); !errors.Is(err, ErrCommandExists) {
				t.Errorf("another %s: %v", name, err)
			}
		}
	})
	d.sound()
}

func TestAnAnswerThatIsLostSendsNothingTwice(t *testing.T) {
	d := newDesk(t)
	lost := errors.New("connection reset")
	d.store.Inject(mem.Fault{Op: mem.Commit, Prefix: "queues/", Times: 1, After: lost})
	c := command(d.one, "1")
	if _, err := d.one.Send(t.Context(), "", d.owner, c); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	d.send("", d.owner, c)
	if ids, _ := d.queued(nil); len(ids) != 1 {
		t.Error(ids)
	}
}

func TestWhatIsNoCommandIsNotSent(t *testing.T) {
	d := newDesk(t)
	for name, change := range map[string]func(*ledger.Command){
		"without an id":       func(c *ledger.Command) { c.ID = " " },
		"of another owner":    func(c *ledger.Command) { c.OwnerDID = "did:key:z6Mk" },
		"of an unknown type":  func(c *ledger.Command) { c.Type = "sing" },
		"with a long id":      func(c *ledger.Command) { c.ID = strings.Repeat("x", 257) },
		"larger than allowed": func(c *ledger.Command) { c.Payload = textPayload(strings.Repeat("x", maxRecord)) },
	} {
		c := command(d.one, "1")
		change(&c)
		if _, err := d.one.Send(t.Context(), "", d.owner, c); err == nil {
			t.Errorf("%s: sent", name)
		} else if strings.Contains(err.Error(), "say") {
			t.Errorf("%s: the error quotes the payload", name)
		}
	}
	if names := d.names("queues/"); len(names) != 0 {
		t.Errorf("left %v", names)
	}
}

func textPayload(text string) value.Value {
	return value.NewBuilder().Record().Key("text").String(text).End().Finish()
}

func TestAProducerSendsIntoItsOwnQueueOnly(t *testing.T) {
	d := newDesk(t)
	web, other := testIdentity(t), testIdentity(t)
	c := command(d.one, "1")
	if _, err := d.reader.Send(t.Context(), "web", web, c); !errors.Is(err, ErrNoProducer) {
		t.Errorf("to a queue that was never bound: %v", err)
	}
	if err := d.one.BindProducer(t.Context(), producerOf("web", web.DID()), noon); err != nil {
		t.Fatal(err)
	}
	d.send("web", web, c)
	d.send("", d.owner, c)
	for queue, signer := range map[string]*ledger.Identity{"": web, "web": other} {
		if _, err := d.reader.Send(t.Context(), queue, signer, c); !errors.Is(err, ErrNotProducer) {
			t.Errorf("to %q with another key: %v", queue, err)
		}
	}
	if _, err := d.reader.Send(t.Context(), "web", d.owner, c); !errors.Is(err, ErrNotProducer) {
		t.Errorf("the owner to a producer's queue: %v", err)
	}
	if ids, refused := d.queued(nil); !slices.Equal(ids, []string{"1", "web/1"}) || len(refused) != 0 {
		t.Errorf("%v, %v", ids, refused)
	}
	if v := d.sound(); v.Commands != 2 || v.Producers != 1 {
		t.Errorf("%+v", v)
	}
}

// producerOf may send everything that command makes.
func producerOf(name, did string) Producer {
	return Producer{Name: name, DID: did, Rights: Rights{Sources: []string{"codex"}, Commands: []string{"prompt"}}}
}

func TestAProducerSendsWhatItsBindingNames(t *testing.T) {
	d := newDesk(t)
	web := testIdentity(t)
	p := producerOf("web", web.DID())
	p.Commands = append(p.Commands, "cancel")
	if err := d.one.BindProducer(t.Context(), p, noon); err != nil {
		t.Fatal(err)
	}
	if err := d.one.BindProducer(t.Context(), p, noon.Add(time.Hour)); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := d.one.BindProducer(t.Context(), producerOf("web", web.DID()), noon); !errors.Is(err, ErrBoundOtherwise) {
		t.Errorf("with other rights: %v", err)
	}
	d.send("web", web, command(d.one, "fine"))
	want := map[string]string{}
	for id, change := range map[string]func(*ledger.Command){
		"another source": func(c *ledger.Command) { c.SourceID = "claude" },
		"another kind":   func(c *ledger.Command) { c.Type = ledger.Start },
	} {
		c := command(d.one, id)
		change(&c)
		var beyond *BeyondError
		if _, err := d.reader.Send(t.Context(), "web", web, c); !errors.As(err, &beyond) {
			t.Errorf("%s: sent: %v", id, err)
		}
		name := store.CommandName("web", id) // a producer may put it there by itself
		d.put(name, d.sealed(document.SealCommand(c, web.DID()), web, "web"))
		want[name] = CodeBeyond
		d.send("", d.owner, c) // who may all
	}
	ids, refused := d.queued(nil)
	if !slices.Equal(ids, []string{"another kind", "another source", "web/fine"}) || !maps.Equal(refused, want) {
		t.Errorf("read %v, refused %v", ids, refused)
	}
	t.Run("a binding that names nothing allows nothing", func(t *testing.T) {
		other := testIdentity(t)
		bare := value.NewBuilder().Record().Key("schema").String(document.SchemaProducer).Key("ownerDid").String(d.owner.DID()).
			Key("producer").String("bare").Key("did").String(other.DID()).Key("time").String(stamp(noon)).Key("signer").String(d.owner.DID()).End().Finish()
		d.put("queues/bare.json", d.sealed(&document.Sealed{Schema: document.SchemaProducer, Signer: d.owner.DID(), Record: bare}, d.owner, "bare"))
		var beyond *BeyondError
		if _, err := d.reader.Send(t.Context(), "bare", other, command(d.one, "1")); !errors.As(err, &beyond) {
			t.Errorf("sent: %v", err)
		}
	})
}

func TestAQueueIsBoundToOneKey(t *testing.T) {
	d := newDesk(t)
	web, other := testIdentity(t), testIdentity(t)
	bind := func(target *Target, name, did string, now time.Time) error {
		return target.BindProducer(t.Context(), producerOf(name, did), now)
	}
	if err := bind(d.one, "web", web.DID(), noon); err != nil {
		t.Fatal(err)
	}
	if err := bind(d.two, "web", web.DID(), noon.Add(time.Hour)); err != nil {
		t.Errorf("again to the same key: %v", err)
	}
	if err := bind(d.one, "web", other.DID(), noon); !errors.Is(err, ErrNotProducer) {
		t.Errorf("to another key: %v", err)
	}
	for name, did := range map[string]string{"": web.DID(), "Web": web.DID(), " web": web.DID(), "phone": "did:key:zNoKey", "desk": ""} {
		if err := bind(d.one, name, did, noon); err == nil {
			t.Errorf("bound %q to %q", name, did)
		}
	}
	if err := bind(d.reader, "phone", web.DID(), noon); err == nil {
		t.Error("bound without the owner's key")
	}
	producers, problems, err := d.reader.Producers(t.Context())
	want := []Producer{{DID: d.owner.DID()}, producerOf("web", web.DID())}
	want[1].Time = stamp(noon)
	if err != nil || len(problems) != 0 || !reflect.DeepEqual(producers, want) {
		t.Errorf("%v, %v, %v", producers, problems, err)
	}
}

func TestWhatDoesNotHoldIsRefusedAndTheRestIsRead(t *testing.T) {
	d := newDesk(t)
	web, forger := testIdentity(t), testIdentity(t)
	elsewhere := newDesk(t) // another store of the same owner
	elsewhere.one.Signer, elsewhere.one.format.OwnerDID = d.owner, d.owner.DID()
	if err := d.one.BindProducer(t.Context(), producerOf("web", web.DID()), noon); err != nil {
		t.Fatal(err)
	}
	d.send("", d.owner, command(d.one, "good"))
	d.send("web", web, command(d.one, "fine"))

	want := map[string]string{}
	put := func(producer, id, code string, text []byte) {
		name := store.CommandName(producer, id)
		d.put(name, text)
		want[name] = code
	}
	seal := func(c ledger.Command, signer *ledger.Identity, producer string) []byte {
		return d.sealed(document.SealCommand(c, signer.DID()), signer, producer)
	}
	good := d.text(store.CommandName("", "good"))
	put("", "malformed", CodeMalformed, []byte(`{"schema":`))
	put("", "empty", CodeMalformed, nil)
	put("", "no command", CodeMalformed, []byte(`{"schema":"agentsync.head","signer":"x","signature":""}`))
	put("", "unsigned", CodeUnsigned, append(value.AppendText(nil, command(d.one, "unsigned").Value()), '\n'))
	put("", "forged", CodeWrongSignature, seal(command(d.one, "forged"), forger, ""))
	put("", "changed", CodeWrongSignature, bytes.Replace(seal(command(d.one, "changed"), d.owner, ""), []byte("say changed"), []byte("say charged"), 1))
	put("", "other store", CodeWrongSignature, elsewhere.sealed(document.SealCommand(command(d.one, "other store"), d.owner.DID()), d.owner, ""))
	put("", "from another queue", CodeWrongSignature, seal(command(d.one, "from another queue"), d.owner, "web"))
	put("web", "by the owner", CodeWrongSignature, seal(command(d.one, "by the owner"), d.owner, "web"))
	put("", "misnamed", CodeMisnamed, good)
	put("", "GOOD", CodeMisnamed, good)
	foreign := command(d.one, "foreign")
	foreign.OwnerDID = forger.DID()
	put("", "foreign", CodeForeignOwner, seal(foreign, d.owner, ""))
	untyped := command(d.one, "untyped")
	untyped.Type = "sing"
	put("", "untyped", CodeMalformed, seal(untyped, d.owner, ""))
	put("", "large", CodeTooLarge, bytes.Repeat([]byte(" "), maxRecord+1))
	put("phone", "unbound", CodeUnbound, seal(command(d.one, "unbound"), forger, "phone"))
	for _, name := range []string{"queues/@owner/notes.txt", "queues/@other/1.json", "queues/@owner/a/b.json"} {
		d.put(name, good)
		want[name] = CodeMisnamed
	}

	ids, refused := d.queued(nil)
	if !slices.Equal(ids, []string{"good", "web/fine"}) {
		t.Errorf("read %v", ids)
	}
	if !maps.Equal(refused, want) {
		t.Errorf("refused %v\nwant %v", refused, want)
	}
	v, problems := d.verify()
	told := map[string]string{}
	for _, p := range v.Refused {
		told[p.Path] = p.Code
	}
	if v.Commands != 2 || len(problems) != 0 || !maps.Equal(told, want) {
		t.Errorf("verify counts %d commands, finds %v damaged, and refuses %v", v.Commands, problems, told)
	}
}

func TestABindingThatDoesNotHoldBindsNothing(t *testing.T) {
	d := newDesk(t)
	forger := testIdentity(t)
	bind := func(p document.Producer, signer *ledger.Identity, queue string) []byte {
		return d.sealed(p.Seal(signer.DID()), signer, queue)
	}
	mine := document.Producer{OwnerDID: d.owner.DID(), Name: "web", DID: forger.DID(), Time: stamp(noon)}
	foreign := mine
	foreign.OwnerDID = forger.DID()
	for code, text := range map[string][]byte{
		CodeWrongSignature: bind(mine, forger, "web"),
		CodeForeignOwner:   bind(foreign, d.owner, "web"),
		CodeMisnamed:       bind(document.Producer{OwnerDID: mine.OwnerDID, Name: "phone", DID: mine.DID, Time: mine.Time}, d.owner, "phone"),
		CodeMalformed:      []byte("{}"),
		CodeTooLarge:       bytes.Repeat([]byte(" "), maxRecord+1),
	} {
		d.replace("queues/web.json", text)
		if _, err := d.reader.Send(t.Context(), "web", forger, command(d.one, "1")); damagedAt(err) != "queues/web.json" {
			t.Errorf("%s: sent: %v", code, err)
		}
		producers, problems, err := d.reader.Producers(t.Context())
		if err != nil || len(producers) != 1 || len(problems) != 1 || problems[0].Code != code || problems[0].Path != "queues/web.json" {
			t.Errorf("%s: %v, %v, %v", code, producers, problems, err)
		}
	}
}

func TestKnownCommandsAreNotRead(t *testing.T) {
	d := newDesk(t)
	long := strings.Repeat("x", 250) // its name does not tell it
	for _, id := range []string{"1", "2", long} {
		d.send("", d.owner, command(d.one, id))
	}
	d.store.ResetCalls()
	ids, _ := d.queued(func(id ledger.CommandID) bool { return id.ID != "2" })
	if !slices.Equal(ids, []string{"2"}) || d.store.Calls(mem.Get) != 2 || d.store.Calls(mem.List) != 1 {
		t.Errorf("%v with %d reads and %d listings", ids, d.store.Calls(mem.Get), d.store.Calls(mem.List))
	}
}

func TestQueuedCommandsComeInOrder(t *testing.T) {
	d := newDesk(t)
	web := testIdentity(t)
	if err := d.one.BindProducer(t.Context(), producerOf("web", web.DID()), noon); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"c", "a", "b", "d"} {
		c := command(d.one, id)
		c.CreatedAt = stamp(noon.Add(time.Duration(i/2) * time.Hour))
		d.send("web", web, c)
		d.send("", d.owner, c)
	}
	ids, _ := d.queued(nil)
	if want := "[a c b d web/a web/c web/b web/d]"; fmt.Sprint(ids) != want {
		t.Errorf("%v, want %s", ids, want)
	}
}

func TestAnUnreadableCommandIsLocatedAndAnUnreadableQueueIsAnError(t *testing.T) {
	d := newDesk(t)
	broken := errors.New("input/output error")
	for _, id := range []string{"1", "2"} {
		d.send("", d.owner, command(d.one, id))
	}
	d.store.Inject(mem.Fault{Op: mem.Get, Prefix: store.CommandName("", "1"), Before: broken})
	ids, refused := d.queued(nil)
	if !slices.Equal(ids, []string{"2"}) || refused[store.CommandName("", "1")] != "unreadable" {
		t.Errorf("%v, %v", ids, refused)
	}
	d.store.Heal()
	d.store.Inject(mem.Fault{Op: mem.List, Before: broken})
	if _, err := d.reader.Queued(t.Context(), nil); !errors.Is(err, broken) {
		t.Errorf("a queue that cannot be listed: %v", err)
	}
}
