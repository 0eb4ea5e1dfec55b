# shellcheck shell=bash
# release: everything that users get, in one folder, with documents, checksums and signatures.

# shellcheck source=tools/cli/command_sbom.sh
source "$CLI/command_sbom.sh"
# shellcheck source=tools/cli/command_image.sh
source "$CLI/command_image.sh"

usage_release() {
    cat <<'TXT'
Usage: ./roundhouse release --out=FOLDER [--dry-run] [--repository=PREFIX --base=IMAGE@DIGEST --jdk=IMAGE@DIGEST]

Builds what users get, from a work tree without changes and of a version that is no snapshot (docs/supply-chain.md): the
applications' jars, the Python package, CycloneDX documents of all, SHA256SUMS; with --repository also the three
images, which are pushed. Stops where an advisory of tools/advisories is about a version in it.

  --out=FOLDER         where to; must not be there
  --dry-run            print the commands and run none; neither a key nor an engine is needed, and a snapshot will do
  --repository=PREFIX  before the images' names, such as registry.example/team
  --base=, --jdk=      what images stand on, and what their Java is linked from, each by its digest: name@sha256:...
  --engine=NAME        docker or podman, which builds and pushes (default docker)

  COSIGN_KEY           cosign's key, a file or what else its --key takes: files and images are signed with it, and images
                       get their document as an attestation. Without it nothing is signed. COSIGN_PASSWORD is cosign's
  SOURCE_DATE_EPOCH    the date of what is built (default: the commit's)
TXT
}

command_release() {
    local out='' repository='' base='' jdk='' engine=docker
    RELEASE_DRY=
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_release
                return
                ;;
            --out=?*) out=${1#--out=} ;;
            --dry-run) RELEASE_DRY=yes ;;
            --repository=?*) repository=${1#--repository=} ;;
            --base=?*) base=${1#--base=} ;;
            --jdk=?*) jdk=${1#--jdk=} ;;
            --engine=docker | --engine=podman) engine=${1#--engine=} ;;
            *) misuse "release does not know '$1'" release ;;
        esac
        shift
    done
    [[ -n $out ]] || misuse "release needs --out=FOLDER" release
    [[ -n $repository || -z $base$jdk ]] || misuse "--base and --jdk are of images, which need --repository" release
    if [[ -n $repository ]]; then
        pinned_image --base "$base"
        pinned_image --jdk "$jdk"
    fi
    [[ ! -e $out ]] || fail "$out is there already; name another folder"
    [[ -n $RELEASE_DRY ]] || releasable
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(commit_time)}

    local version
    version=$(project_version)
    release_jars "$out" "$version"
    release_python "$out"
    perform "$ROOT/roundhouse" sbom --check "--out=$out/sbom"
    if [[ -n $repository ]]; then
        perform "$ROOT/roundhouse" image --engine "$engine" --repository "$repository" --tag "$version" --base "$base" --jdk "$jdk"
        perform "$ROOT/roundhouse" sbom --check "--out=$out/sbom" "--engine=$engine" "--repository=$repository" "--tag=$version"
    fi
    perform write_checksums "$out"
    sign_files "$out" "$version"
    [[ -z $repository ]] || push_images "$out" "$engine" "${repository%/}" "$version"
    [[ -n ${COSIGN_KEY:-} ]] || complain "COSIGN_KEY is not set: nothing is signed"
}

# Runs a command, or in a dry run prints it. The key is printed by its variable's name.
perform() {
    if [[ -z $RELEASE_DRY ]]; then
        "$@"
        return
    fi
    local word line=''
    for word in "$@"; do
        case $word in
            "${COSIGN_KEY:-/}") line+=" \"\$COSIGN_KEY\"" ;;
            *) line+=" $(printf %q "$word")" ;;
        esac
    done
    echo "${line# }"
}

pinned_image() { # OPTION IMAGE
    [[ $2 =~ ^[^@]+@sha256:[0-9a-f]{64}$ ]] ||
        misuse "$1 takes an image by its digest, name@sha256:..., and not '$2'" release
}

releasable() {
    [[ $(project_version) != *-SNAPSHOT ]] || fail "the version is $(project_version), a snapshot; set another in the pom.xml files, or try --dry-run"
    git -C "$ROOT" diff --quiet HEAD 2>/dev/null ||
        fail "the work tree has changes, or is no clone: commit them, so that the release can be made again"
    [[ -z ${COSIGN_KEY:-} ]] || command -v cosign >/dev/null || fail "COSIGN_KEY is set, and there is no 'cosign' on PATH"
}

commit_time() { git -C "$ROOT" log -1 --format=%ct 2>/dev/null || date -d "$(build_time)" +%s; }

release_jars() { # FOLDER VERSION
    local index
    if [[ -n $RELEASE_DRY ]]; then
        JARS=("${APPLICATIONS[@]/%/.jar}")
    else
        begin_steps 3
        ensure_jdk
        ensure_tools
        ensure_all_with_sboms
    fi
    perform mkdir -p "$1"
    for index in "${!APPLICATIONS[@]}"; do
        perform cp "${JARS[index]}" "$1/${APPLICATIONS[index]}-$2.jar"
    done
}

release_python() { # FOLDER
    EXPORT_PYTHON=python3
    if [[ -z $RELEASE_DRY ]]; then
        begin_steps 1
        ensure_venv export "$ROOT/tools/model-export/requirements-dev.lock"
        EXPORT_PYTHON=$VENV/bin/python
    fi
    perform "$EXPORT_PYTHON" -m build --no-isolation --outdir "$1" "$ROOT/tools/model-export"
}

write_checksums() { # FOLDER
    (cd "$1" && find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum) >"$1.sums" && mv "$1.sums" "$1/SHA256SUMS"
}

# One signature is enough for all files, as SHA256SUMS names them; jars and documents have their own for who takes one.
sign_files() { # FOLDER VERSION
    local file files=("$1/SHA256SUMS") name
    [[ -n ${COSIGN_KEY:-} ]] || return 0
    for name in "${APPLICATIONS[@]}"; do
        files+=("$1/$name-$2.jar" "$1/sbom/$name.cdx.json")
    done
    for file in "${files[@]}"; do
        perform cosign sign-blob --yes --key "$COSIGN_KEY" --bundle "$file.sigstore.json" "$file"
    done
}

# A tag can be moved: what is signed is the digest that the registry answered with.
push_images() { # FOLDER ENGINE REPOSITORY VERSION
    local name image digest
    for name in "${IMAGES[@]}"; do
        image=$3/roundhouse-$name
        perform "$2" push "$image:$4"
        [[ -n ${COSIGN_KEY:-} ]] || continue
        digest=$image@sha256:DIGEST
        if [[ -z $RELEASE_DRY ]]; then
            digest=$("$2" image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$image:$4" | grep -F "$image@" | head -n 1)
            [[ -n $digest ]] || fail "$2 knows no digest of $image:$4, which it has pushed"
        fi
        perform cosign sign --yes --key "$COSIGN_KEY" "$digest"
        perform cosign attest --yes --key "$COSIGN_KEY" --type cyclonedx --predicate "$1/sbom/roundhouse-$name.cdx.json" "$digest"
    done
}
