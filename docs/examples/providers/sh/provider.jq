# What to do about one frame: the whole of the provider's thinking, and none of its doing.
#
# Five lines of input are one question: what this process is, the ledger, the pool, the moment ($boot is the clock of
# not_after, $held whether the state folder is ours, $failed what could not be written just now), and the frame. Output
# is a plan for provider.sh, and `done`.
#
# The pool is the far side: {"grants": {"lic.TOKEN": {feature, units, mark, price, made_at}}}. A grant is named by its
# token, so the pool itself tells a repeated purchase from a new one: token.replay is `exact`.

def parsed: try fromjson catch null;
(inputs | parsed) as $session
| (input | parsed) as $ledger
| (input | parsed | if type == "object" and (.grants | type) == "object" then . else null end) as $pool
| (input | split("|")) as [$boot_text, $held, $damaged, $failed, $random] | ($boot_text | tonumber) as $boot
| 2592000 as $keep_s

# ---------------------------------------------------------------------------------------------------------- refusals

| def codes: {bad_message: -32600, unknown_method: -32601, bad_params: -32602, internal: -32603, shutting_down: -32001,
    not_initialized: -32002, version: -32010, config: -32011, fenced: -32012, state_locked: -32013, no_capacity: 1001,
    bad_request: 1005, unknown_template: 1006, transient: 1008, price: 1009, quote_gone: 1010, token_conflict: 1011,
    cursor_gone: 1013};
def refuse($class; $more): error({error_class: $class} + $more);
def refuse($class): refuse($class; {});
def not_made($class; $detail): refuse($class; {outcome: "not_made", detail: $detail});

# ------------------------------------------------------------------------------------------------------------- forms
# Each form takes a value and gives its faults {path, detail}, none if all is well. Unknown fields are nobody's fault.

def bad($detail): {path: "", detail: $detail};
def text($pattern; $detail): if type == "string" and test($pattern) then empty else bad($detail) end;
def name: text("\\A[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?\\z"; "must be up to 40 of a-z, 0-9 and inner hyphens");
def ref: text("\\A[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,199}\\z"; "must be a reference");
def short: if type == "string" and length <= 500 then empty else bad("must be a text of up to 500 characters") end;
def path: text("\\A/[^\\x00]*\\z"; "must be an absolute path");
def cursor: text("\\A[ -~]{1,2048}\\z"; "must be 1 to 2048 printable ASCII characters");
def time: text("\\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?Z\\z"; "must be a time");
def amount: text("\\A(0|[1-9][0-9]{0,11})([.][0-9]{1,9})?\\z"; "must be an amount like \"2.19\", as text");
def currency: text("\\A[A-Z]{3}\\z"; "must be a currency of three capital letters");
def int($least; $most): if type == "number" and . == floor and . >= $least and . <= $most then empty
    else bad("must be an integer from \($least) to \($most)") end;
def int($least): int($least; 9007199254740991);
def number: if type == "number" then empty else bad("must be a number") end;
def object(faults): if type == "object" then faults else bad("must be an object") end;
def must($key; faults): if .[$key] == null then {path: "/\($key)", detail: "is required"}
    else .[$key] | faults | .path = "/\($key)\(.path)" end;
def may($key; faults): if .[$key] == null then empty else must($key; faults) end;
def only($names): keys[] | select(IN($names[]) | not) | {path: "/\(.)", detail: "is not known here"};
def list($least; $most; faults): if type == "array" and length >= $least and length <= $most
    then to_entries[] | .key as $place | .value | faults | .path = "/\($place)\(.path)"
    else bad("must be a list of \($least) to \($most)") end;

def money: object(must("amount"; amount), must("currency"; currency),
    must("per"; text("\\A(hour|unit_hour|purchase)\\z"; "must be hour, unit_hour or purchase")));
def mark: object(must("cluster", "lineage", "provider", "request_id", "token"; name), must("epoch"; int(0)));
def fences: must("epoch"; int(0)), must("not_after"; number);
def purchase: must("request_id", "token"; name), must("template"; ref), must("units"; int(1)), must("mark"; mark);
def methods: ["initialize", "describe", "request", "request_status", "return", "return_status", "list", "ping",
    "shutdown"];
def faults($method):
    if $method == "initialize" then object(must("versions"; list(1; 16; short)), must("epoch"; int(0)),
        must("mode"; text("\\A(serve|check)\\z"; "must be serve or check")),
        must("cluster", "lineage", "provider", "owner"; name), must("config"; object(empty)), must("state_dir"; path),
        must("frame_bytes"; int(1048576)), must("answer_s_max"; int(1)), may("credentials_dir"; path))
    elif $method == "describe" then object(may("known"; short), may("cursor"; cursor))
    elif $method == "request" then object(purchase, fences, may("min_units"; int(1)), may("price_cap"; money),
        may("quote"; ref), may("duration_s"; int(0)), may("deadline"; time), may("consumer"; name),
        may("data"; object(empty)))
    elif $method == "request_status" then object(must("requests"; list(1; 500; object(purchase))))
    elif $method == "return" then object(must("return_id"; name), fences,
        must("items"; list(1; 1000; object(must("instance"; ref), must("keep"; int(0))))))
    elif $method == "return_status" then object(must("returns"; list(1; 500; name)))
    elif $method == "list" then object(may("cursor"; cursor), may("limit"; int(1; 1000)),
        may("instances"; list(0; 1000; ref)))
    elif $method == "shutdown" then object(must("grace_s"; int(0)))
    else empty end;
# In the configuration an unknown field is a slip of the pen, and a fault.
def feature_faults: object(only(["units", "price"]), must("units"; int(1; 1000000)), must("price"; amount));
def config_faults: only(["features", "currency", "pool_file", "slow_s"]), may("currency"; currency),
    may("pool_file"; path), may("slow_s"; int(0; 600)),
    must("features"; object(if length == 0 then bad("must not be empty") else keys[] as $feature
        | must($feature; feature_faults), ($feature | text("\\A[a-z0-9_]{1,40}\\z"; "is no name of a feature")) end));

# --------------------------------------------------------------------------------------------- what the pool says

# Exact, without floating point: length of the whole part, the whole part, nine decimals; compared in this order.
def nanos: split(".") | [(.[0] | length), .[0], ((.[1] // "") + "000000000")[0:9]];
def rfc3339: floor | todate;
def is_over: . != null and ((sub("[.][0-9]+"; "") | try fromdate catch 0) <= now);
def granted($feature): [$pool.grants[] | select(.feature == $feature) | .units] | add // 0;
def free($feature): [0, $session.config.features[$feature].units - granted($feature)] | max;
def price($feature): $session.config | {amount: .features[$feature].price, currency, per: "unit_hour"};
def was_returned($id): any($ledger.returns[].items[]; .instance == $id and .keep == 0);
def view($id; $feature; $units; $grants): {instance: $id, kind: "grant", template: $feature}
    + if $grants == null then {units: $units, state: "unknown"}
      elif $grants[$id] then $grants[$id] | {units, state: "running", price, made_at, access: {LM_PROJECT: $id}}
      else {units: 0, state: "gone", reason: (if was_returned($id) then "returned" else "outside" end)} end;

# --------------------------------------------------------------------------------------------------------- purchases

# RQ-1: the content is all that is known of a purchase but the fence; null is absent, and stating a default is nothing.
def content: {request_id, token, template, units, mark, min_units: (.min_units // 1), price_cap, quote, duration_s,
    deadline, consumer, data} | walk(if type == "object" then with_entries(select(.value != null)) else . end);

# EP-2, EP-4. The clock was read a moment ago, and doing the plan takes another: hence the second to spare.
def is_superseded: $ledger.epochs[$session.lineage] != $session.epoch;
def fence: if .epoch != $session.epoch then not_made("fenced"; "not the epoch of this process")
    elif $boot + 1 >= .not_after then not_made("fenced"; "too late to begin")
    elif is_superseded then not_made("fenced"; "another epoch was here")
    else . end;

# Why a purchase can't be had, if so. It is asked before the record and again right before the act.
def sellable: . as $p | $session.config.features[.template] as $feature
    | if $feature == null then not_made("unknown_template"; "no such feature")
      elif .quote != null then not_made("quote_gone"; "nothing is quoted here")
      elif .units > $feature.units then not_made("bad_request"; "more than max_units")
      elif .price_cap == null then refuse("bad_params"; {faults: [{path: "/price_cap", detail: "is required"}]})
      elif (.price_cap | {currency, per}) != (price($p.template) | {currency, per})
        or (.price_cap.amount | nanos) < ($feature.price | nanos) then not_made("price"; "it is \($feature.price)")
      elif .deadline | is_over then not_made("transient"; "the deadline is over")
      elif $pool == null then not_made("transient"; "the pool can't be read")
      elif free(.template) < (.min_units // 1) then not_made("no_capacity"; "\(free($p.template)) are free")
      else . end;

# Final: what is closed never changes (RP-1). Input is an open record.
def closed($units; $class): . + {outcome: (if $units > 0 then "made" else "not_made" end), units: $units, at: now,
    problems: (if $units < .asked then [{error_class: $class, units: (.asked - $units)}] else [] end)};
def with_token($record): $ledger | .tokens[$record.token] = $record;
def report($record; $grants): $record | {request_id, token, outcome, problems: (.problems // []), instances:
    (if .outcome == "made" and .template then [view("lic.\(.token)"; .template; .units; $grants)] else [] end)};

# ST-6: a record that a crash left open is settled by what the pool shows. The process that left it is dead (we hold its
# lock) and the pool changes in one stroke: what is not in it by now will never be.
def settled: if .outcome != "open" or $pool == null then . else closed($pool.grants["lic.\(.token)"].units // 0; "transient") end;
# Never heard of: not made if the ledger is whole, and a tombstone sees to it that it never will be (§4).
def never_heard_of: {request_id, token, at: now, outcome: (if $damaged == "" then "not_made" else "unknown" end)};
def status: ($ledger.tokens[.token] // never_heard_of) | settled
    | if .outcome == "open" then .outcome = "unknown" else . end;

def act($p; $record; $units): ($record | closed($units; "no_capacity")) as $made
    | ($pool | .grants["lic.\($p.token)"] = {feature: $p.template, units: $units, mark: $p.mark,
        price: price($p.template), made_at: (now | rfc3339)}) as $new
    | ["pool", $new], ["ledger", with_token($made)], ["answer", report($made; $new.grants)];
def request: . as $p | content as $content | $ledger.tokens[.token] as $record
    | if $record.content != null and $record.content != $content then refuse("token_conflict")
      elif $record.outcome == "made" or $record.outcome == "not_made" then ["answer", report($record; $pool.grants)]
      elif $damaged != "" then not_made("transient"; "see ledger.json.unreadable in the state folder")
      elif $record == null then sellable | fence
        # ST-1: the record first. The plan after this one finds it, and acts.
        | ["ledger", with_token({request_id, token, template, content: $content, asked: .units, outcome: "open"})],
          ["sleep", $session.config.slow_s], ["again"]
      elif $pool == null then refuse("transient"; {outcome: "unknown", detail: "the pool can't be read"})
      elif $pool.grants["lic.\($p.token)"] then ($record | settled) as $made # a crash came between act and record
        | ["ledger", with_token($made)], ["answer", report($made; $pool.grants)]
      else (try (sellable | fence | [.units, free(.template)] | min) catch .) as $found
        | if $found | type == "number" then act($p; $record; $found)
          elif $found.error_class == "fenced" then error($found)
          else ["ledger", with_token($record | closed(0; $found.error_class))], ["refusal", $found] end end;

def request_status: [.requests[] | status] as $found
    | (reduce $found[] as $each ($ledger; if $each.outcome == "unknown" or .tokens[$each.token].outcome == $each.outcome
        then . else .tokens[$each.token] = $each end)) as $new
    | (if $new != $ledger then ["ledger", $new] else empty end),
      ["answer", {requests: [$found[] | report(.; $pool.grants)]}];

# -------------------------------------------------------------------------------------------------------- give-backs

def is_ours: .mark.cluster == $session.cluster and .mark.provider == $session.provider;

# One word on each item, from what the pool shows: `returned` is an observation.
def items($grants): [.[] | .instance as $id | .keep as $keep | {instance: $id}
    + if $grants == null then {state: "unknown", problem: {error_class: "transient"}}
      elif $grants[$id] == null and $ledger.tokens[$id | ltrimstr("lic.")].outcome == "made" then {state: "returned", units: 0}
      elif $grants[$id] == null or ($grants[$id] | is_ours | not) then {state: "not_found"}
      else $grants[$id] | {units, state: (if .units <= $keep then "returned" else "failed" end)} end];

# RT-1: `keep` is what is left, so a smaller one wins, and a repetition changes nothing.
def lowered($items): reduce $items[] as $item (.; .grants[$item.instance] as $grant
    | if $grant == null or ($grant | is_ours | not) then .
      elif $item.keep == 0 then del(.grants[$item.instance])
      else .grants[$item.instance].units |= ([., $item.keep] | min) end);
def give_back: fence | . as $p | ($pool | if . == null then . else lowered($p.items) end) as $new
    | ["ledger", ($ledger | .returns[$p.return_id] = {items: $p.items, at: now})],
      (if $new != $pool then ["pool", $new] else empty end), ["answer", {items: ($p.items | items($new.grants))}];
def return_status: ["answer", {returns: [.returns[] | {return_id: .}
    + (if $ledger.returns[.] then {items: ($ledger.returns[.].items | items($pool.grants))} else {} end)]}];

# ----------------------------------------------------------------------------------------------------- what there is

def digest: reduce (tojson | explode[]) as $each (7; (. * 31 + $each) % 2147483647);
def describe: . as $p | [$session.config.features | to_entries[] | .key as $feature | {template: $feature, kind: "grant",
      unit: "token", granularity: {max_units: .value.units}, price: price($feature),
      billing: {starts: "made", ends: "return_accepted"}, lead_time: {typical_s: 1, worst_s: 10},
      # What can't be read is not stated; it is never told as zero.
      capacity: ({max: .value.units} + if $pool == null then {} else {available: free($feature)} end)}] as $templates
    | "r-\($templates | digest)" as $revision
    | ["answer", {revision: $revision}
        + if $p.known == $revision then {base: $revision} else {templates: $templates} end];

# Pages in the order of ids; the cursor says after which to go on. An unreadable pool is no empty one (LS-3).
def list_pool: . as $p | (.limit // 1000) as $limit
    | (.cursor // "after:" | if startswith("after:") then .[6:] else refuse("cursor_gone") end) as $after
    | [$pool.grants // {} | to_entries[]
        | select(.value | is_ours or ($p.scope == "cluster" and .mark.cluster == $session.cluster))
        | .key as $id | .value | view($id; .feature; .units; $pool.grants) + {mark}] as $all
    | if $p.instances then [$all[] | select(.instance | IN($p.instances[]))] as $found
        | ["answer", {age_s: 0, complete: false, instances: $found,
            not_found: (if $pool == null then [] else $p.instances - [$found[].instance] end)}]
      else [$all | sort_by(.instance)[] | select(.instance > $after)] as $rest | ($rest | length <= $limit) as $is_last
        | ["answer", {age_s: 0, complete: ($pool != null and $is_last), instances: $rest[0:$limit]}
            + (if $is_last then {} else {next: "after:\($rest[$limit - 1].instance)"} end)
            + (if $pool != null then {} else {problems: [{error_class: "transient", detail: "no pool"}]} end)] end;

def ping: ["answer", if $damaged != "" then {health: "down", problem: {error_class: "internal", detail: "ledger unreadable"}}
    elif $pool == null then {health: "down", problem: {error_class: "transient", detail: "the pool can't be read"}}
    else {health: "ok"} end];

# --------------------------------------------------------------------------------------- how a process begins and ends

def promises: {
    token: {replay: "exact", lifetime_s: $keep_s}, mark: {kept: "far_side"}, list: {covers: "far_side", delay_s: 0},
    memory: {where: "state_dir", keep_s: $keep_s}, # what was given back is known here only
    limits: {price_cap: "life", min_units: "atomic", deadline: "honoured"},
    return: {partial: true, observed: true, typical_s: 0},
    calls: {in_flight: 1, answer_s: {request: ((.slow_s // 0) + 30)}, not_after: "honoured", late_effect_s: 1}};
# The ledger of this process's life: the epoch claimed (EP-1), a random id if it is new (ST-4), old records made small.
def opened($p): (now - $keep_s) as $old | $ledger // {state_id: $random, epochs: {}, tokens: {}, returns: {}}
    | .epochs[$p.lineage] = $p.epoch
    | .returns |= with_entries(select(.value.at > $old))
    # Of an old purchase token and outcome stay: else it would be bought again, or be called not made (OT-1).
    | .tokens |= with_entries(if .value.outcome == "open" or .value.at > $old or $pool.grants["lic.\(.key)"] then .
        else .value |= {request_id, token, content, outcome, at} end);
def initialize: . as $p | (.versions | if type == "array" then . else [] end) as $offered
    | if $session != null then refuse("bad_message"; {detail: "initialize came a second time"})
      elif $offered != [] and ("2.0" | IN($offered[]) | not) then refuse("version"; {supported: ["2.0"]}) # HS-3: first of all
      else . end
    | [faults("initialize")] as $faults | if $faults != [] then refuse("bad_params"; {faults: $faults[0:100]}) else . end
    | [.config | config_faults] as $faults | if $faults != [] then refuse("config"; {faults: $faults[0:100]}) else . end
    | if $failed != "" then refuse("transient"; {detail: "the state folder can't be used"})
      elif $held == "" then ["folder", .state_dir],
        ["pool_at", if .config.pool_file then "given \(.config.pool_file)" else "own \(.state_dir)/pool.json" end], ["again"]
      elif $held == "no" then refuse("state_locked"; {detail: "another process serves this state folder"})
      elif ($ledger.epochs[.lineage] // 0) > .epoch then refuse("fenced"; {detail: "a higher epoch was here"})
      else opened($p) as $new | ["ledger", $new],
        ["session", {stage: .mode, cluster, lineage, provider, epoch,
            config: ({currency: "USD", slow_s: 0} + (.config | with_entries(select(.value != null))))}],
        ["answer", {version: "2.0", provider: {name: "pool", version: "1.0"}, kinds: ["grant"], state_id: $new.state_id,
            promises: ($p.config | promises)}] end;

def answers($method):
    if $method == "initialize" then initialize
    elif $session == null then refuse("not_initialized")
    elif $session.stage == "stopping" then refuse("shutting_down")
    elif $method | IN(methods[]) | not then refuse("unknown_method")
    elif $session.stage == "check" and ($method | IN("describe", "list", "ping", "shutdown") | not)
      then refuse("bad_message"; {detail: "started to check only"})
    else [faults($method)] as $faults
    | if $faults != [] then refuse("bad_params"; {faults: $faults[0:100]})
      elif $failed == "ledger" and $method == "request" and $ledger.tokens[.token] == null
        then not_made("transient"; "the ledger could not be written") # ST-2: the disk is full, and nothing was begun
      elif $failed != "" then refuse("transient"; {detail: "the disk could not be written"})
      elif $method == "describe" then describe
      elif $method == "request" then request
      elif $method == "request_status" then request_status
      elif $method == "return" then give_back
      elif $method == "return_status" then return_status
      elif $method == "list" then list_pool
      elif $method == "ping" then ping
      else ["session", $session + {stage: "stopping"}], ["answer", {open: 0}] end end;

# --------------------------------------------------------------------------------------------------------------- frames

def line($frame): {jsonrpc: "2.0", id: $frame.id} + . | tojson;
def exit_after($frame): if $frame.method == "initialize" and $session == null
      then "exit \({version: 78, config: 78, fenced: 0, state_locked: 0}[.error_class] // 1)"
    elif .error_class == "fenced" and is_superseded then "exit 0" else empty end;
def step($frame): .[0] as $verb | .[1]
    | if $verb == "answer" then "answer \({result: .} | line($frame))"
      elif $verb == "refusal" then
        "answer \({error: {code: codes[.error_class], message: .error_class, data: .}} | line($frame))", exit_after($frame)
      else "\($verb) \(if type == "object" then tojson else . // "" end)" end;
def is_id: type == "number" and . == floor and . >= 1 and . <= 9007199254740991;

def plan: parsed as $frame
    | if ($frame | type) != "object" then "log skipped a line of \(length) characters that is no message"
      elif $frame | has("method") | not then empty # FR-5: never answered
      elif $frame.id | is_id | not then
        # A notification. Unknown ones are dropped, and who does one thing at a time cancels none (CC-6).
        if $frame.id == null and $frame.method == "exit" then "exit 0" else empty end
      elif $frame.jsonrpc != "2.0" or ($frame.method | type) != "string" or ($frame.params // {} | type) != "object"
        then ["refusal", {error_class: "bad_message"}] | step($frame)
      else (try ($frame.params // {} | answers($frame.method))
        catch if type == "object" then ["refusal", .] else
          ["log", "a bug: \(gsub("\n"; " "))"], ["refusal", {error_class: "internal"}] end) | step($frame) end;
(input | plan), "done"
