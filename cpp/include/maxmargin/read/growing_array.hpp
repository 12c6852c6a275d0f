// An array that grows at its end and is handed on without a copy.
//
// std::vector copies when it grows and keeps both copies meanwhile; realloc moves the pages of a large block
// instead (mremap), so that memory never holds more than what was written. Room that was never written to
// takes no memory either.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace maxmargin::read {

struct Free {
    void operator()(void* p) const noexcept { std::free(p); }
};

template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    std::size_t size() const noexcept { return size_; }
    T* data() noexcept { return data_.get(); }
    bool has_room_for(std::size_t count) const noexcept { return count <= capacity_ - size_; }
    std::span<T> span() noexcept { return {data_.get(), size_}; }
    std::span<const T> span() const noexcept { return {data_.get(), size_}; }

    // Makes the array that much longer and gives the new end, not yet written. When it has to move, it asks
    // for `expected` elements in all, so that it need not move again.
    std::span<T> extend(std::size_t count, std::size_t expected) {
        const std::size_t needed = size_ + count;
        if (needed > capacity_ && !resize_room(std::max(expected, needed)) && !resize_room(needed))
            throw std::bad_alloc();
        const std::span<T> added(data_.get() + size_, count);
        size_ = needed;
        return added;
    }

    // Gives the room at the end back, and the memory to the caller; never a null pointer.
    std::unique_ptr<T[], Free> release() {
        resize_room(std::max<std::size_t>(size_, 1));
        if (data_ == nullptr) throw std::bad_alloc();
        size_ = capacity_ = 0;
        return std::move(data_);
    }

  private:
    std::unique_ptr<T[], Free> data_;
    std::size_t size_ = 0, capacity_ = 0;

    bool resize_room(std::size_t capacity) noexcept {
        if (capacity > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) return false;
        void* const moved = std::realloc(data_.get(), capacity * sizeof(T));
        if (moved == nullptr) return false;
        static_cast<void>(data_.release());
        data_.reset(static_cast<T*>(moved));
        capacity_ = capacity;
        return true;
    }
};

}  // namespace maxmargin::read
