# shellcheck shell=bash
# token: makes bearer tokens, of which servers keep the hash alone.

usage_token() {
    cat <<'TXT'
Usage: ./roundhouse token [--add=FILE] [--expires=DAYS] | token --secret

Makes a bearer token for an identity of roundhouse.worker.access or roundhouse.gateway.access (docs/security.md), and the
line of its file of tokens, which has the token's hash alone: nobody can read the token from it.

  --add=FILE      appends the line to the file, and prints the token alone. A running server reads it within seconds
  --expires=DAYS  the token is refused after so many days, 1 to 3650
  --secret        instead, makes a secret for access.gateway-key-files, which gateways and workers share

  ./roundhouse token
  TOKEN=$(./roundhouse token --add=tokens/team-a --expires=90)
  ./roundhouse token --secret > gateway-key
TXT
}

command_token() {
    local file='' days='' secret='' token line
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_token
                return
                ;;
            --add=?*) file=${1#--add=} ;;
            --expires=?*)
                days=${1#--expires=}
                [[ $days =~ ^[1-9][0-9]{0,3}$ && $days -le 3650 ]] ||
                    misuse "--expires takes a number of days from 1 to 3650 and not '$days'" token
                ;;
            --secret) secret=yes ;;
            *) misuse "token does not know '$1'" token ;;
        esac
        shift
    done
    [[ -z $secret || -z $file$days ]] || misuse "--secret is a thing of its own; give no other option" token
    token=$(random_text)
    if [[ -n $secret ]]; then
        echo "$token"
        return
    fi
    line=sha256:$(printf %s "$token" | sha256sum | cut -d ' ' -f 1)
    [[ -z $days ]] || line+=" expires=$(date -u -d "+$days days" +%Y-%m-%dT%H:%M:%SZ)"
    if [[ -n $file ]]; then
        add_line "$file" "$line"
        echo "$token"
    else
        printf 'token  %s\nline   %s\n' "$token" "$line"
    fi
}

# 256 random bits, as characters that every header takes.
random_text() { head -c 32 /dev/urandom | base64 -w 0 | tr '+/' '-_' | tr -d '='; }

# Readers see the file as it was or with the line, never half of it.
add_line() { # FILE LINE
    local part=$1.part.$$
    {
        [[ ! -e $1 ]] || cat "$1" || return
        [[ ! -s $1 || -z $(tail -c 1 "$1") ]] || echo
        echo "$2"
    } >"$part" || fail "'$1' cannot be written"
    mv "$part" "$1"
}
