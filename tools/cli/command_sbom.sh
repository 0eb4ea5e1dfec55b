# shellcheck shell=bash
# sbom: what jars, images and the Python package are made of, and which of it is known to be at fault.

APPLICATIONS=(worker-service gateway-service node-supervisor)

usage_sbom() {
    cat <<'TXT'
Usage: ./roundhouse sbom [--out=FOLDER] [--check] [--engine=NAME [--repository=PREFIX] [--tag=TAG]]

Writes CycloneDX documents (JSON) of the three applications' jars, of all of them together, of the Python package and of
the images (docs/supply-chain.md). Fails where a jar has a library that its document does not name, or a third-party one
that is not as tools/pins/jars.sha256 has it. The jars are built, if they have to be, with their documents in them, which
takes up to half a minute more and cannot be done offline.

  --out=FOLDER   where to, and made if it is not there (default target/sbom)
  --check        also compares versions with tools/advisories/advisories.json; exit code 1 when one is affected
  --engine=NAME  docker or podman: also reads Debian's packages and Java's version out of images that are built
  --repository=PREFIX, --tag=TAG  which images, as of ./roundhouse image (default: none, and the version)
TXT
}

command_sbom() {
    local out=$ROOT/target/sbom check='' engine='' repository='' tag=''
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_sbom
                return
                ;;
            --out=?*) out=${1#--out=} ;;
            --check) check=yes ;;
            --engine=docker | --engine=podman) engine=${1#--engine=} ;;
            --repository=?*) repository=${1#--repository=} ;;
            --tag=?*) tag=${1#--tag=} ;;
            *) misuse "sbom does not know '$1'" sbom ;;
        esac
        shift
    done
    [[ -z $tag$repository || -n $engine ]] || misuse "--repository and --tag are of --engine, which is not given" sbom
    begin_steps 4
    ensure_jdk
    ensure_tools
    ensure_plugin
    ensure_all_with_sboms
    python3 "$ROOT/tools/pins/jars.py" "${JARS[@]}" >&2
    write_sboms "$out" "$engine" "${repository:+${repository%/}/}" "${tag:-$(project_version)}"
    [[ -z $check ]] || python3 "$ROOT/tools/advisories/affected.py" "$ROOT/tools/advisories/advisories.json" "$out"/*.cdx.json
}

# Step: the applications' jars with their documents in them, which those of other commands may lack; leaves them in JARS.
ensure_all_with_sboms() {
    local module key=''
    JARS=()
    begin_step "build ${APPLICATIONS[*]}"
    key=$(source_key)
    for module in "${APPLICATIONS[@]}"; do
        JARS+=("$ROOT/target/run/$module-$key.jar")
    done
    if has_sboms "${JARS[@]}"; then
        end_step "nothing changed"
        return
    fi
    run_build "$CACHE/logs/build-sbom.log" maven -Psbom -DskipTests \
        -pl "$(IFS=,; echo "${APPLICATIONS[*]}")" -am package
    for module in "${APPLICATIONS[@]}"; do
        keep_jar "$module" "$(module_jar "$module")" "$key"
    done
    end_step "built"
}

has_sboms() { # JAR...
    python3 -c 'import pathlib, sys, zipfile
sys.exit(not all(pathlib.Path(jar).exists() and "META-INF/sbom/application.cdx.json" in zipfile.ZipFile(jar).namelist()
                 for jar in sys.argv[1:]))' "$@"
}

write_sboms() { # FOLDER ENGINE PREFIX TAG
    local arguments=("$1" "--version=$(project_version)" "--plugin=$PLUGIN_DIRECTORY") index python contents
    for index in "${!APPLICATIONS[@]}"; do
        arguments+=("--jar=${APPLICATIONS[index]}=${JARS[index]}")
    done
    # licences of Python packages, where the exporter's environment is there
    python=$(compgen -G "$CACHE/venv-export-*/lib/python3*/site-packages" | head -n 1 || true)
    [[ -z $python ]] || arguments+=("--python=$python")
    if [[ -n $2 ]]; then
        contents=$ROOT/target/image-contents
        rm -rf "$contents"
        for index in worker gateway node; do
            read_image "$2" "$3roundhouse-$index:$4" "$contents/roundhouse-$index"
            arguments+=("--contents=roundhouse-$index=$contents/roundhouse-$index")
        done
    else
        complain "images: without what their base has (Debian's packages, Java's version), which --engine reads out of them"
    fi
    python3 "$ROOT/tools/sbom/write_sboms.py" "${arguments[@]}"
}

# Its packages, its Java and its distribution, each where the image has it.
read_image() { # ENGINE IMAGE FOLDER
    local file
    mkdir -p "$3"
    "$1" image inspect "$2" >/dev/null 2>&1 || fail "$1 has no image $2; ./roundhouse image builds it"
    for file in /var/lib/dpkg/status /opt/java/release /etc/os-release; do
        "$1" run --rm --network none --entrypoint /bin/cat "$2" "$file" >"$3/${file##*/}" 2>/dev/null || rm "$3/${file##*/}"
    done
}
