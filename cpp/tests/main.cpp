// Runs the C++ tests: all of them, or those whose name contains the first argument.

#include "check.hpp"

int check::run(const std::string& filter) {
    int passed = 0;
    int failed = 0;
    for (const Case& test : cases()) {
        if (std::string(test.name).find(filter) == std::string::npos) {
            continue;
        }
        failures() = 0;
        try {
            test.body();
        } catch (const std::exception& error) {
            fail(test.name, 0, std::string("unexpected exception: ") + error.what());
        }
        if (failures() == 0) {
            ++passed;
        } else {
            ++failed;
            std::printf("FAILED: %s\n", test.name);
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed == 0 ? 1 : failed;
}

int main(int argc, char** argv) { return check::run(argc > 1 ? argv[1] : "") == 0 ? 0 : 1; }
