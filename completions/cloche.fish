# Completion of cloche for fish. Offers what `cloche COMMAND --help` lists.

set -l presets base dev strict open readonly workspace opencode claude codex mcp
set -l commands run explain check presets init trust doctor learn log annotate import session help

# Where the command that `cloche run` starts begins: the first word that is
# neither an option nor the value of one. Fails if it has not begun.
function __cloche_command_start
    set -l words (commandline -opc)
    set -l valued -c -s -p -C -o --output --settings --preset --project --allow-read --deny-read --allow-write --deny-write \
        --allow-domain --deny-domain --allow-unix --env --host-port --publish --device --timeout --memory --pids \
        --backend --allow-degraded --events --control-fd --lifeline-fd --pass-fd --session-fd --session-tmp
    set -l skip no
    test (count $words) -ge 3; and contains -- $words[2] run learn; or return 1
    for i in (seq 3 (count $words))
        if test $skip = yes
            set skip no
        else if test "$words[$i]" = --
            math $i + 1
            return 0
        else if string match -q -- '-*' $words[$i]
            contains -- $words[$i] $valued; and set skip yes
        else
            echo $i
            return 0
        end
    end
    return 1
end

# The command completes as if it were typed alone.
function __cloche_complete_command
    set -l words (commandline -opc)
    set -l start (__cloche_command_start); or set start (math (count $words) + 1)
    complete -C (string join ' ' -- $words[$start..-1] (commandline -ct))
end

function __cloche_takes_options
    __cloche_uses run explain learn session; and not __cloche_command_start >/dev/null
end

# A file of Codex's has a prefix.
function __cloche_settings
    set -l word (commandline -ct)
    if string match -q -- 'codex:*' $word
        for file in (__fish_complete_path (string replace -- codex: '' $word))
            echo codex:$file
        end
    else
        printf 'codex:\tA policy of Codex\n'
    end
end

function __cloche_uses
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

complete -c cloche -f
complete -c cloche -n "not __cloche_uses $commands" -a run -d 'Run a command under a policy'
complete -c cloche -n "not __cloche_uses $commands" -a explain -d 'May it? Which rule says so?'
complete -c cloche -n "not __cloche_uses $commands" -a check -d 'Validate policy files'
complete -c cloche -n "not __cloche_uses $commands" -a presets -d 'List the built-in policies, or print one'
complete -c cloche -n "not __cloche_uses $commands" -a init -d 'Write a starter policy'
complete -c cloche -n "not __cloche_uses $commands" -a trust -d "Let a project's own policy count"
complete -c cloche -n "not __cloche_uses $commands" -a doctor -d 'What this host can enforce'
complete -c cloche -n "not __cloche_uses $commands" -a learn -d 'Write the policy a command needs'
complete -c cloche -n "not __cloche_uses $commands" -a log -d 'What was denied, when, by which rule'
complete -c cloche -n "not __cloche_uses $commands" -a annotate -d 'Error output with what was denied'
complete -c cloche -n "not __cloche_uses $commands" -a import -d 'Make a policy of the settings of another program'
complete -c cloche -n "not __cloche_uses $commands" -a session -d 'Hold a /tmp that several runs share'
complete -c cloche -n "not __cloche_uses $commands" -a help -d 'The options of a command'
complete -c cloche -n '__cloche_uses help' -a 'run explain check presets init trust doctor learn log annotate import session'
complete -c cloche -n "not __cloche_uses $commands" -l version -d 'Show the version'
complete -c cloche -n 'not __cloche_command_start >/dev/null' -s h -l help -d 'Show help'

complete -c cloche -n __cloche_takes_options -s s -l settings -r -F -a '(__cloche_settings)' -d 'Policy file'
complete -c cloche -n __cloche_takes_options -s p -l preset -x -a "$presets" -d 'Built-in policy'
complete -c cloche -n __cloche_takes_options -s C -l project -x -a '(__fish_complete_directories)' -d 'The project'
complete -c cloche -n __cloche_takes_options -l allow-read -r -F -d 'Let this be read'
complete -c cloche -n __cloche_takes_options -l deny-read -r -F -d 'Hide this'
complete -c cloche -n __cloche_takes_options -l allow-write -r -F -d 'Let this be written'
complete -c cloche -n __cloche_takes_options -l deny-write -r -F -d 'Keep this from being written'
complete -c cloche -n __cloche_takes_options -l allow-domain -x -d 'Let this host be reached'
complete -c cloche -n __cloche_takes_options -l deny-domain -x -d 'Keep this host out of reach'
complete -c cloche -n __cloche_takes_options -l allow-unix -r -F -d 'A socket of the host'
complete -c cloche -n __cloche_takes_options -l env -x -a '(set --names --export)' -d 'Pass a variable, or set it'
complete -c cloche -n __cloche_takes_options -l host-port -x -d "A port of the host's loopback, reachable inside"
complete -c cloche -n __cloche_takes_options -l publish -x -d "A port inside, reachable on the host's loopback"
complete -c cloche -n __cloche_takes_options -l device -r -F -d 'A device'
complete -c cloche -n __cloche_takes_options -l timeout -x -d 'End the run after this time (90, 10m, 1h)'
complete -c cloche -n __cloche_takes_options -l memory -x -d 'Limit memory'
complete -c cloche -n __cloche_takes_options -l pids -x -d 'Limit processes'
complete -c cloche -n __cloche_takes_options -l ask -d 'Ask at the terminal about what nothing allows'
complete -c cloche -n __cloche_takes_options -l events -r -F -d 'Write events as JSON lines'
complete -c cloche -n __cloche_takes_options -l control-fd -x -d 'Take new policies from this descriptor'
complete -c cloche -n __cloche_takes_options -l session-fd -x -d 'Tell and ask the program at the other end of this socket'
complete -c cloche -n __cloche_takes_options -l session-tmp -x -d 'The /tmp of a session'
complete -c cloche -n __cloche_takes_options -l lifeline-fd -x -d 'End the run when the other end of this pipe is gone'
complete -c cloche -n __cloche_takes_options -l pass-fd -x -d 'Give the command this descriptor, too'
complete -c cloche -n __cloche_takes_options -l backend -x -a 'auto namespaces landlock' -d 'How to enforce'
complete -c cloche -n __cloche_takes_options -l allow-degraded -x -a 'late-names protected-names metadata truncate' -d 'Accept a weaker mode by name'
complete -c cloche -n __cloche_takes_options -s v -l verbose -d 'Say what is done'
complete -c cloche -n __cloche_takes_options -s q -l quiet -d 'Errors only'

complete -c cloche -n '__cloche_uses run; and __cloche_takes_options' -s c -x -d 'Run shell text'
complete -c cloche -n '__cloche_uses run learn' -x -a '(__cloche_complete_command)'
complete -c cloche -n '__cloche_uses learn; and __cloche_takes_options' -s o -l output -r -F -d 'Where the policy goes'

complete -c cloche -n '__cloche_uses explain' -a 'read: write: net: unix: env:' -d Question
complete -c cloche -n '__cloche_uses explain doctor log' -l json -d 'One JSON object instead of lines'
complete -c cloche -n '__cloche_uses check trust log import' -F
complete -c cloche -n '__cloche_uses presets' -a "$presets" -d 'Built-in policy'
complete -c cloche -n '__cloche_uses init' -s p -l preset -x -a "$presets" -d 'What it extends'
complete -c cloche -n '__cloche_uses trust' -l revoke -d 'Trust it no longer'
complete -c cloche -n '__cloche_uses trust' -l status -d 'Say whether it is trusted'
complete -c cloche -n '__cloche_uses log' -l since -x -d 'From this time on'
complete -c cloche -n '__cloche_uses log' -l until -x -d 'Up to this time'
complete -c cloche -n '__cloche_uses log' -s C -l project -x -a '(__fish_complete_directories)' -d 'Of runs in this directory'
complete -c cloche -n '__cloche_uses log' -l command -x -d 'Of runs whose command line has this in it'
complete -c cloche -n '__cloche_uses log annotate' -l run -x -d 'Of this run'
complete -c cloche -n '__cloche_uses log' -l kind -x -a 'fs net unix fs.read fs.write net.connect net.dns unix.connect syscall limit exec.later run' -d 'Of this kind'
complete -c cloche -n '__cloche_uses log' -l denied -d 'Denials only'
complete -c cloche -n '__cloche_uses log' -l all -d 'What was allowed, too'
complete -c cloche -n '__cloche_uses log' -s f -l follow -d 'Wait for more'
complete -c cloche -n '__cloche_uses log' -l html -r -F -d 'Write a page'
complete -c cloche -n '__cloche_uses log' -l verify -d 'Is the chain unbroken?'
complete -c cloche -n '__cloche_uses annotate' -l events -r -F -d 'What run --events wrote'
complete -c cloche -n '__cloche_uses session' -l fd -x -d 'Hand it over through this socket'
complete -c cloche -n '__cloche_uses import' -l from -x -a 'claude codex bwrap' -d 'Whose settings'
complete -c cloche -n '__cloche_uses explain' -l bwrap -d 'The nearest command line of bubblewrap'
