# shellcheck shell=bash
# Finds a JDK 25 (a compiler, not only a runtime) or installs one where the distribution has it.

JDK_FEATURE=25
JDK_PACKAGES=("openjdk-$JDK_FEATURE-jdk-headless" "temurin-$JDK_FEATURE-jdk")

# The version that a JDK folder states about itself, without starting it.
jdk_version() {
    sed -n 's/^JAVA_VERSION="\(.*\)"$/\1/p' "$1/release" 2>/dev/null
}

is_our_jdk() {
    [[ -x $1/bin/javac && $(jdk_version "$1") =~ ^$JDK_FEATURE([.+-]|$) ]]
}

# Prints the first fitting JDK: JAVA_HOME, the usual folders, PATH.
find_jdk() {
    local home on_path
    on_path=$(readlink -f "$(command -v javac || true)" || true)
    for home in "${JAVA_HOME:-}" /usr/lib/jvm/*/ "${HOME:-/nonexistent}"/.sdkman/candidates/java/*/ \
        "${HOME:-/nonexistent}"/.jdks/*/ /opt/*jdk*/ "${on_path%/bin/javac}"; do
        home=${home%/}
        if [[ -n $home ]] && is_our_jdk "$home"; then
            echo "$home"
            return
        fi
    done
    return 1
}

# Prints the package that brings a JDK 25 on this distribution.
jdk_package() {
    local package
    for package in "${JDK_PACKAGES[@]}"; do
        if package_available "$package"; then
            echo "$package"
            return
        fi
    done
    return 1
}

jdk_advice() {
    local package
    if package=$(jdk_package); then
        echo "$(as_root_prefix)apt-get install -y $package"
    else
        echo "$(distribution_name) has no openjdk-$JDK_FEATURE package: install Eclipse Temurin $JDK_FEATURE from its own apt repository (package temurin-$JDK_FEATURE-jdk), or unpack any JDK $JDK_FEATURE and run with JAVA_HOME=/path/to/it"
    fi
}

# Step: exports JAVA_HOME and puts it first on PATH.
ensure_jdk() {
    local home package found=found
    begin_step "JDK $JDK_FEATURE"
    if ! home=$(find_jdk); then
        refresh_package_lists
        if ! package=$(jdk_package); then
            printf 'MISSING\n' >&2
            fail "no JDK $JDK_FEATURE with javac in JAVA_HOME, /usr/lib/jvm or PATH. $(jdk_advice)"
        fi
        install_packages "$package"
        home=$(find_jdk) || fail "$package is installed, yet no JDK $JDK_FEATURE is under /usr/lib/jvm; set JAVA_HOME"
        found=installed
    fi
    export JAVA_HOME=$home
    export PATH=$home/bin:$PATH
    end_step "$found $home"
}
