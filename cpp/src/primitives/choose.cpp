// Which instruction set runs here: asked of the processor once, or forced by MAXMARGIN_CPU.
#include <cstdlib>
#include <stdexcept>

#include "maxmargin/primitives.hpp"

namespace maxmargin {

namespace baseline {
extern const Primitives set;
}
#if defined(MAXMARGIN_HAVE_AVX2)
namespace avx2 {
extern const Primitives set;
}
#endif
#if defined(MAXMARGIN_HAVE_AVX512)
namespace avx512 {
extern const Primitives set;
}
#endif

namespace {

std::vector<const Primitives*> runnable() {
    std::vector<const Primitives*> sets{&baseline::set};
#if defined(MAXMARGIN_HAVE_AVX2)
    if (__builtin_cpu_supports("x86-64-v3")) sets.push_back(&avx2::set);
#endif
#if defined(MAXMARGIN_HAVE_AVX512)
    if (__builtin_cpu_supports("x86-64-v4")) sets.push_back(&avx512::set);
#endif
    return sets;
}

const Primitives& choose() {
    const char* forced = std::getenv("MAXMARGIN_CPU");
    if (forced != nullptr && *forced != '\0') return primitives_named(forced);
    return *runnable().back();
}

}  // namespace

std::vector<std::string> available_primitives() {
    std::vector<std::string> names;
    for (const Primitives* set : runnable()) names.emplace_back(set->name);
    return names;
}

const Primitives& primitives_named(const std::string& name) {
    std::string names;
    for (const Primitives* set : runnable()) {
        if (name == set->name) return *set;
        names += names.empty() ? "" : ", ";
        names += set->name;
    }
    throw std::invalid_argument("MAXMARGIN_CPU: no instruction set \"" + name +
                                "\" on this machine; it can run " + names);
}

const Primitives& primitives() {
    static const Primitives& chosen = choose();
    return chosen;
}

}  // namespace maxmargin
