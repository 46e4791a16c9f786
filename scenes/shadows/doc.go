// Package shadows runs turns of agents ahead of the committed run of a scene.
//
// The committed run goes wave by wave and waits for the slowest answer of each. A [Driver] runs
// later turns meanwhile, on copies of the agents' machines ("shadows"). A shadow asks models through
// the same runner, and all that it leaves are answers in the log of effects. The turn itself begins
// when its wave does, decides by itself what to ask, and finds the answer if its question is the
// same, or joins the call if that is still out. So a wrong guess costs a call, and never a fact.
//
// Package schedule decides which turns may begin. The driver holds what they see: of each agent the
// state behind its last turn, and of each moment a world, the committed one with what turns before
// it asked for. It learns what the committed run did from the ends of turns and waves.
//
// You [Start] a driver before the scene's actors, tell it of each committed turn ([Driver.Turned])
// before the stage hears of it, and of each wave ([Driver.Closed]), and Close it before the log of
// effects. A nil Driver does nothing.
//
// # Promises
//
//  1. Nothing but answers in the log of effects comes from a shadow. Facts, digest and refusals are
//     those of a run without a driver, also if shadows see what is not so ([Options.Lie]).
//
//  2. Tracked: a turn runs ahead only if no turn that is still to come before it can change what its
//     workflows can read. What a turn asks for and is told of later (a lease, a state command, a base, an answer
//     that it always wants) is waited for until the wave that decides it has ended, by its agent and by whoever
//     reads of it. Calls are wasted only if a request that was taken to be granted is
//     refused, but for changes of the world by an agent that reads what it writes, the scene itself wakes an agent (a publication, an expiry in the world) or its script
//     acts because something happened, an agent has to wait for a full cell or is put elsewhere, an
//     agent fails, or the scene ends. What a ttl or lease ends is foreseen, and what the script does
//     at a known time is waited for. In every mode no more calls are made when 50, and a tenth of those of
//     committed turns or, if that is more, of those made ahead, were wasted.
//
//  3. A panic of a shadow is counted, and its agent is not run ahead any more. A fault of the driver
//     ends the running ahead ([Counts].Off), and the scene goes on.
//
//  4. A call of a shadow leaves a gate after all others ([Class]). It is made only if it may be
//     repeated. When the shadow is dropped, the call is not sent any more; one that was sent goes on.
//
//  5. Under budgets, what was asked for ahead and no turn has taken stays within a tenth of each
//     limit, wasted calls too, and within what is left. No ledger of the scene sees it.
//
// # Space
//
// In a scene with a grid the driver holds the course of each agent: the way that it walks if nobody
// stands in it. A turn ahead sees by the courses which agents are near, and is told how its own walk
// ends. A turn waits only for agents behind it that may come near until then. No agent walks faster
// than the speed, and only agents that are near hear an event whose reach is bounded.
//
// # Events
//
// The id of an event comes from the turn that published it, so turns ahead may show it. Tracked: a turn
// ahead is told what it heard of turns before it, as the event channel would decide (package heard).
// Speculative: it waits until that is a fact. A turn also waits if its agent heard two agents at
// one moment, since their order in the wave is not foretold. It waits as well if its agent heard
// an event of the world or of a step over a border, an urgent or ephemeral one, or one that a
// rate, middleware, debounce or group decides about. It waits for an event that is held until that is released. An event of an
// earlier turn is heard at its own moment if something expires in the world then; who may hear it waits.
//
// # What is not foretold
//
// Turns of agents whose prompts may name world_version, that events interrupt, or that have not
// perceived an ephemeral event yet; what follows a call of a tool, a question to a hook, a request
// to knowledge bases or tasks, state commands, leases, requests that want an answer, walks to another
// agent, and LookTool, which counts everybody: such turns wait for the committed run. Scenes on the realtime clock, with turns, or with places without a grid are
// refused. If an agent leaves the map the driver gives up.
//
// # Limits
//
// An agent is at most 60 turns ahead; a scene has at most [MaxAgents]. When a scene may end at any
// wave (a limit of deliberations, events, tokens or dollars, a condition, a wall time, a budget that
// ends or pauses it, a script), at most 50 calls and a tenth of those used so far are ahead. So it is under
// bets if agents that events alone wake reach others: no bet is made on an agent without a next turn.
package shadows
