// Package drivers chooses the driver of a source, and finds the sources of a machine.
//
// It is the one place that knows every driver. It reads no session.
package drivers

import (
	"fmt"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/collect/acp"
	"agentsync/collect/claude"
	"agentsync/collect/codex"
)

// The driver kinds of a configuration.
const (
	Claude = claude.Kind
	Codex  = codex.Kind
	ACP    = acp.Kind
	DSH    = "dsh"
	Cells  = "cells"
)

// makers are the drivers that this version has, by kind.
var makers = map[string]func(collect.SourceConfig, collect.Env) (collect.Driver, error){
	Claude: func(cfg collect.SourceConfig, env collect.Env) (collect.Driver, error) { return claude.New(cfg, env) },
	Codex:  func(cfg collect.SourceConfig, env collect.Env) (collect.Driver, error) { return codex.New(cfg, env) },
	ACP:    func(cfg collect.SourceConfig, env collect.Env) (collect.Driver, error) { return acp.New(cfg, env) },
}

// restores are the places that each driver's sessions may be restored to.
var restores = map[string]func(path string) bool{Claude: claude.Restores, Codex: codex.Restores, ACP: acp.Restores}

// Restores returns which paths below a source's folder its sessions may be restored to,
// nil for a kind of driver that this version does not have.
func Restores(kind string) func(path string) bool { return restores[kind] }

// planned are the kinds that a configuration may name and this version cannot read.
var planned = []string{DSH, Cells}

// UnknownError reports a driver kind that this version cannot make a driver of.
type UnknownError struct {
	Source  string
	Driver  string
	Planned bool // the kind is known, and not yet supported
}

func (e *UnknownError) Error() string {
	what := "unknown driver"
	if e.Planned {
		what = "driver not yet supported by this version:"
	}
	return fmt.Sprintf("source %s: %s %q (known: %s)", e.Source, what, e.Driver, strings.Join(Kinds(), ", "))
}

// Kinds lists the driver kinds that New makes a driver of, in order.
func Kinds() []string {
	kinds := make([]string, 0, len(makers))
	for kind := range makers {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// New makes the driver that a source's configuration names, without starting it. A kind
// that this version does not have is an *UnknownError, an id that no session key can
// hold a *collect.KeyError.
func New(cfg collect.SourceConfig, env collect.Env) (collect.Driver, error) {
	maker, known := makers[cfg.Driver]
	if !known {
		return nil, &UnknownError{Source: cfg.ID, Driver: cfg.Driver, Planned: slices.Contains(planned, cfg.Driver)}
	}
	if _, err := collect.SourceID(cfg.ID); err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	d, err := maker(cfg, env)
	if err != nil {
		return nil, err // a nil *Driver in the interface would not be nil
	}
	return d, nil
}
