// Package acp collects and operates the sessions of an agent that speaks the Agent
// Client Protocol, version 1, over the standard streams of a program.
//
// It owns the agent's process, the paging of its list, the loading of histories, the
// modes and options that sessions offer, and prompts. It offers the agent no files, no
// terminal and no servers, and refuses every permission that the agent asks for.
//
// The protocol shows a history in one way only: session/load replays it. So reading wakes
// the agent, and the agent may take note of that in its own files. A loaded session is
// closed again where the agent can do that. A session's file is made of the updates that
// arrive between the load's request and its answer, one a line, as the agent wrote them.
// Updates that tell a state and no history (state kinds, see history) are left out: they
// depend on the moment, and arrive before, among and after the history.
//
// It investigates nothing: a replay has no times and no ends of turns, so it can prove
// neither that a prompt was carried out nor that it was not.
package acp
