# Completion of cloche for bash. Offers what `cloche COMMAND --help` lists.
# shellcheck shell=bash

_cloche_presets='base dev strict open readonly workspace opencode claude codex mcp'

# Options of run and explain, those with a value first.
_cloche_valued='--settings --preset --project --allow-read --deny-read --allow-write --deny-write --allow-domain
    --deny-domain --allow-unix --env --host-port --publish --device --timeout --memory --pids --backend
    --allow-degraded --events --control-fd --lifeline-fd --pass-fd --session-fd
    --session-tmp'
_cloche_plain='--ask --verbose --quiet --help'

_cloche_words()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_cloche_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# The value of an option; fails if $1 is not one that takes a value.
_cloche_value()
{
    local option=$1 current=$2

    case $option in
    -p | --preset) _cloche_words "$_cloche_presets" "$current" ;;
    -C | --project)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        ;;
    -s | --settings)
        # Taken for a file's name, "codex:" would become "codex\:".
        if [[ -n $current && codex: == "$current"* ]]; then
            compopt -o nospace 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            COMPREPLY+=(codex:)
        else
            _cloche_files "$current"
        fi
        ;;
    --allow-read | --deny-read | --allow-write | --deny-write | --allow-unix | --device | --events)
        _cloche_files "$current"
        ;;
    --env) mapfile -t COMPREPLY < <(compgen -e -- "$current") ;;
    --backend) _cloche_words 'auto namespaces landlock' "$current" ;;
    --allow-degraded) _cloche_words 'late-names protected-names metadata truncate' "$current" ;;
    -c | --allow-domain | --deny-domain | --host-port | --publish | --timeout | --memory | --pids) ;;
    --control-fd | --lifeline-fd | --pass-fd | --session-fd | --session-tmp | --fd) ;;
    *) return 1 ;;
    esac
}

# Where the command that `cloche run` starts begins in COMP_WORDS: the first word
# that is neither an option nor the value of one. Fails if it has not begun.
_cloche_command_start()
{
    local i

    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --)
            echo $((i + 1))
            return
            ;;
        -*)
            # "--name=value" comes as three words.
            if [[ ${COMP_WORDS[i + 1]-} == = ]]; then
                ((i += 2))
            elif [[ " -c -p -C -s -o --output $_cloche_valued " == *[[:space:]]"${COMP_WORDS[i]}"[[:space:]]* ]]; then
                ((i++))
                # "codex:FILE" does, too.
                [[ ${COMP_WORDS[i + 1]-} != : ]] || ((i += 2))
            fi
            ;;
        *)
            echo "$i"
            return
            ;;
        esac
    done
    return 1
}

# The file in "--settings codex:FILE", which comes as three words; fails if it is not that.
_cloche_codex()
{
    local current=$1 at=$((COMP_CWORD - 1))

    [[ $current != : ]] || current=
    [[ ${COMP_WORDS[COMP_CWORD]} == : ]] || ((at--))
    ((at > 1)) && [[ ${COMP_WORDS[at]} == codex && ${COMP_WORDS[at + 1]} == : ]] || return 1
    [[ ${COMP_WORDS[at - 1]} != = ]] || ((at--))
    [[ ${COMP_WORDS[at - 1]} == -s || ${COMP_WORDS[at - 1]} == --settings ]] || return 1
    _cloche_files "$current"
}

# $2: options that only this command has.
_cloche_run()
{
    local current=$1 own=$2 start

    if start=$(_cloche_command_start); then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$start"
        elif ((start == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$current")
        else
            _cloche_files "$current"
        fi
    elif [[ $current == -* ]]; then
        _cloche_words "$_cloche_valued $_cloche_plain $own -c" "$current"
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
}

_cloche_explain()
{
    local current=$1 previous=$2

    # "read:PATH" comes as three words.
    if [[ $current == : || $previous == : ]]; then
        local kind=$previous
        if [[ $previous == : ]]; then
            kind=${COMP_WORDS[COMP_CWORD - 2]}
        else
            current=
        fi
        case $kind in
        env) mapfile -t COMPREPLY < <(compgen -e -- "$current") ;;
        net) ;;
        *) _cloche_files "$current" ;;
        esac
    elif [[ $current == -* ]]; then
        _cloche_words "$_cloche_valued $_cloche_plain --json --bwrap" "$current"
    elif [[ $current == [/.~]* ]]; then
        _cloche_files "$current"
    else
        compopt -o nospace 2>/dev/null
        _cloche_words 'read: write: net: unix: env:' "$current"
    fi
}

_cloche_log()
{
    local current=$1 previous=$2

    case $previous in
    --since | --until | --command | --run) ;;
    --kind)
        _cloche_words 'fs net unix fs.read fs.write net.connect net.dns unix.connect syscall limit exec.later run' "$current"
        ;;
    -C | --project)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        ;;
    *)
        if [[ $current == -* ]]; then
            _cloche_words '--since --until --project --command --run --kind --denied --all --follow --json --html
                --verify --help' "$current"
        else
            _cloche_files "$current"
        fi
        ;;
    esac
}

_cloche()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _cloche_words 'run explain check presets init trust doctor learn log annotate import session help --help --version' "$current"
        return
    fi

    # "--name=value" comes as three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case ${COMP_WORDS[1]} in
    run | learn | explain | session) ! _cloche_codex "$current" || return 0 ;;
    esac
    case ${COMP_WORDS[1]} in
    learn)
        if ! _cloche_command_start >/dev/null && [[ $previous == -o || $previous == --output ]]; then
            _cloche_files "$current"
        else
            _cloche_command_start >/dev/null || ! _cloche_value "$previous" "$current" || return
            _cloche_run "$current" '-o --output'
        fi
        ;;
    run)
        _cloche_command_start >/dev/null || ! _cloche_value "$previous" "$current" || return
        _cloche_run "$current" ''
        ;;
    explain) _cloche_value "$previous" "$current" || _cloche_explain "$current" "$previous" ;;
    check)
        if [[ $current == -* ]]; then _cloche_words '--help' "$current"; else _cloche_files "$current"; fi
        ;;
    presets) _cloche_words "$_cloche_presets --help" "$current" ;;
    init)
        case $previous in
        -p | --preset) _cloche_words "$_cloche_presets" "$current" ;;
        *) _cloche_words '--preset --help' "$current" ;;
        esac
        ;;
    trust)
        if [[ $current == -* ]]; then
            _cloche_words '--revoke --status --help' "$current"
        else
            _cloche_files "$current"
        fi
        ;;
    doctor) _cloche_words '--json --help' "$current" ;;
    log) _cloche_log "$current" "$previous" ;;
    import)
        if [[ $previous == --from ]]; then
            _cloche_words 'claude codex bwrap' "$current"
        elif [[ $current == -* ]]; then
            _cloche_words '--from --help' "$current"
        else
            _cloche_files "$current"
        fi
        ;;
    session) _cloche_value "$previous" "$current" || _cloche_words "$_cloche_valued $_cloche_plain --fd" "$current" ;;
    annotate)
        if [[ $previous == --events ]]; then
            _cloche_files "$current"
        else
            _cloche_words '--events --run --help' "$current"
        fi
        ;;
    help) _cloche_words 'run explain check presets init trust doctor learn log annotate import session' "$current" ;;
    esac
}

complete -F _cloche cloche
