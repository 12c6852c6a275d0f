#include "maxmargin/block.hpp"

#include <cstring>

namespace maxmargin {
namespace {

// IEEE half precision, for which C++20 has no type.
struct Half {
    std::uint16_t bits;

    explicit operator double() const noexcept {
        const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = (bits >> 10) & 0x1FU,
                            fraction = bits & 0x3FFU;
        if (exponent == 0) {  // zero or subnormal: fraction · 2^-24
            const double magnitude = static_cast<double>(fraction) * 0x1p-24;
            return sign != 0 ? -magnitude : magnitude;
        }
        const std::uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
        const std::uint32_t word = sign | (wide_exponent << 23) | (fraction << 13);
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }
};

// The upper half of a single.
struct BrainFloat {
    std::uint16_t bits;

    explicit operator double() const noexcept {
        const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }
};

// Calls f with a null pointer of the scalar's type.
template <class F>
void with_type(Scalar scalar, F&& f) {
    switch (scalar) {
        case Scalar::boolean: return f(static_cast<const bool*>(nullptr));
        case Scalar::i8: return f(static_cast<const std::int8_t*>(nullptr));
        case Scalar::u8: return f(static_cast<const std::uint8_t*>(nullptr));
        case Scalar::i16: return f(static_cast<const std::int16_t*>(nullptr));
        case Scalar::u16: return f(static_cast<const std::uint16_t*>(nullptr));
        case Scalar::i32: return f(static_cast<const std::int32_t*>(nullptr));
        case Scalar::u32: return f(static_cast<const std::uint32_t*>(nullptr));
        case Scalar::i64: return f(static_cast<const std::int64_t*>(nullptr));
        case Scalar::u64: return f(static_cast<const std::uint64_t*>(nullptr));
        case Scalar::f16: return f(static_cast<const Half*>(nullptr));
        case Scalar::bf16: return f(static_cast<const BrainFloat*>(nullptr));
        case Scalar::f32: return f(static_cast<const float*>(nullptr));
        case Scalar::f64: return f(static_cast<const double*>(nullptr));
    }
}

}  // namespace

void gather_dense(const DenseStorage& from, std::int64_t first, std::int64_t rows, std::int64_t columns,
                  double* to) {
    with_type(from.scalar, [&](auto* type) {
        using Value = std::remove_pointer_t<decltype(type)>;
        const Value* data = static_cast<const Value*>(from.data) + first * from.row_stride;
        // Tiles of 16 × 16: for Fortran order, the columns of a tile are read while their lines are in cache.
        constexpr std::int64_t kTile = 16;
        for (std::int64_t row = 0; row < rows; row += kTile) {
            for (std::int64_t column = 0; column < columns; column += kTile) {
                const std::int64_t last_row = std::min(row + kTile, rows),
                                   last = std::min(column + kTile, columns);
                for (std::int64_t i = row; i < last_row; ++i) {
                    for (std::int64_t j = column; j < last; ++j) {
                        to[i * columns + j] =
                            static_cast<double>(data[i * from.row_stride + j * from.column_stride]);
                    }
                }
            }
        }
    });
}

void gather_listed(const DenseStorage& from, const std::uint32_t* listed, std::int64_t rows,
                   std::int64_t columns, double* to) {
    with_type(from.scalar, [&](auto* type) {
        using Value = std::remove_pointer_t<decltype(type)>;
        const Value* data = static_cast<const Value*>(from.data);
        // Column by column within a strip: in Fortran order, neighbours on the list share cache lines.
        constexpr std::int64_t kStrip = 64;
        for (std::int64_t first = 0; first < rows; first += kStrip) {
            const std::int64_t last = std::min(first + kStrip, rows);
            for (std::int64_t j = 0; j < columns; ++j) {
                for (std::int64_t k = first; k < last; ++k) {
                    const Value value = data[listed[k] * from.row_stride + j * from.column_stride];
                    to[k * columns + j] = static_cast<double>(value);
                }
            }
        }
    });
}

void gather_values(const void* values, Scalar scalar, std::int64_t first, std::int64_t count, double* to) {
    gather_dense({values, scalar, 1, 1}, first, count, 1, to);
}

}  // namespace maxmargin
